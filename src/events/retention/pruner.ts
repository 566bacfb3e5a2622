import { messageOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import type { Logger } from '../../logging/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Retention } from '../../settings/index.ts'
import type { ChunkSize, EventLog, RetentionQueries, StreamStatus } from '../../store/index.ts'
import { defaultStream } from '../routing-table.ts'
import type { StreamNames } from '../stream-names.ts'
import { ClockJumps } from './clock-jumps.ts'
import { type IsBefore, prunable } from './prunable.ts'
import { type StreamSettings, streamLimits } from './stream-limits.ts'

/** Prunes own streams by their retention limits. All of its state is in the store, so a restart changes nothing. */
export class Pruner {
  readonly #store: EventLog & RetentionQueries
  readonly #names: StreamNames
  readonly #clock: Clock
  readonly #clockJumps: ClockJumps
  readonly #log: Logger
  #limits = streamLimits({})
  #stopped = false

  constructor(store: EventLog & RetentionQueries, names: StreamNames, clock: Clock, log: Logger) {
    this.#store = store
    this.#names = names
    this.#clock = clock
    this.#clockJumps = new ClockJumps(clock)
    this.#log = log
  }

  set settings(settings: StreamSettings) {
    this.#limits = streamLimits(settings)
  }

  /** Prunes all streams once. A failure in one of them is thrown after the others were pruned. */
  async run(): Promise<void> {
    const isClockTrusted = this.#isClockTrusted()
    const own = (await this.#store.streams()).filter((stream) => stream.own)
    let failed: Error | undefined
    for (const [name, { maxAgeSeconds, ...others }] of this.#limits) {
      const stream = own.find(({ key }) => key.number === this.#names.numbers.get(name))
      if (stream === undefined) continue
      const kept = isClockTrusted && maxAgeSeconds !== undefined ? { ...others, maxAgeSeconds } : others
      try {
        await this.#prune(name, stream, kept)
      } catch (error) {
        if (this.#stopped) return
        failed ??= new Error(`stream '${name}': ${messageOf(error)}`, { cause: error })
      }
    }
    if (failed !== undefined) throw failed
  }

  /** Stops a run in progress. */
  stop(): void {
    this.#stopped = true
  }

  /**
   * False once after the clock was set: it may be wrong, and pruned events are lost. The operator has until the next
   * run to correct it.
   */
  #isClockTrusted(): boolean {
    const jump = this.#clockJumps.sinceLastCall()
    if (Math.abs(jump) <= limits.clockJump) return true
    if ([...this.#limits.values()].some(({ maxAgeSeconds }) => maxAgeSeconds !== undefined))
      this.#log.warn(
        `the clock was set by ${Math.round(jump / 1e6)} seconds: no event is removed for its age until the next run`,
      )
    return false
  }

  async #prune(name: string, { key, number }: StreamStatus, kept: Retention): Promise<void> {
    const chunks = await this.#store.chunkSizes(number)
    const isBefore: IsBefore = (chunk, from, time) => this.#isBefore(number, chunk, from, time)
    const end = await prunable(chunks, kept, this.#clock.now(), isBefore)
    if (end === 0) return
    if (key.number === defaultStream.number) await this.#names.republishBefore(end)
    const gone = chunks.filter((chunk) => chunk.end <= end)
    for (let i = 0; i < gone.length; i += tuning.chunksPerPrune) {
      if (this.#stopped) return
      const last = gone[Math.min(i + tuning.chunksPerPrune, gone.length) - 1]
      await this.#store.prune(key.number, last?.end ?? end)
    }
    this.#log.info(`removed ${end - (gone[0]?.first ?? 0)} events that were beyond the limits of the stream '${name}'`)
  }

  /** Starts with the newest events: usually they are too young, and no others have to be read. */
  async #isBefore(stream: number, { first, end }: ChunkSize, from: number, time: number): Promise<boolean> {
    const start = Math.max(first, from)
    for (let to = end - 1; to >= start; ) {
      const newest = await this.#store.newestTime(stream, start, to)
      if (newest.time >= time) return false
      to = newest.first - 1
    }
    return true
  }
}
