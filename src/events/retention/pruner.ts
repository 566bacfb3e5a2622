import { assert } from '../../base/assert.ts'
import { messageOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import type { Logger } from '../../logging/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Retention } from '../../settings/index.ts'
import type { ChunkSize, EventStore, StreamStatus } from '../../store/index.ts'
import type { StreamNames } from '../stream-names.ts'
import { type ClockDoubt, type ClockReading, ClockTrust } from './clock-trust.ts'
import { FactCopies } from './fact-copies.ts'
import { type Bounds, boundsOf, endOfExpired, type IsBefore, isOverdue, prunable } from './prunable.ts'
import { type StreamSettings, streamLimits } from './stream-limits.ts'

export interface PrunerOptions {
  readonly clock: Clock
  readonly log: Logger
  /** By how many microseconds the wall clock is ahead of those of the connected peers. */
  readonly aheadOfPeers?: (() => readonly number[]) | undefined
  /** Called with the reason when events are not removed for their age, since the clock is doubted; then without. */
  readonly clockDoubted?: ((detail: string | undefined) => void) | undefined
}

/** Prunes own streams by their retention limits. All of its state is in the store, so a restart changes nothing. */
export class Pruner {
  readonly #store: EventStore
  readonly #names: StreamNames
  readonly #facts: FactCopies
  readonly #options: PrunerOptions
  readonly #clockTrust: ClockTrust
  readonly #log: Logger
  #limits = streamLimits({})
  /** Why the clock is doubted, as it was last reported. */
  #reported: ClockDoubt | undefined
  /** The reading of the monotonic clock from which frozen streams are looked for again. */
  #frozenCheckFrom = 0
  #stopped = false

  constructor(store: EventStore, names: StreamNames, options: PrunerOptions) {
    this.#store = store
    this.#names = names
    this.#facts = new FactCopies(store, names)
    this.#options = options
    this.#clockTrust = new ClockTrust(this.#readClocks())
    this.#log = options.log
  }

  /** Compares the clock with the newest own event. Called before the first event of this run, which would hide a change. */
  async recallClock(): Promise<void> {
    if (this.#ages.length === 0) return
    try {
      const newest = await this.#newestOwnTime()
      if (newest !== undefined) this.#clockTrust.recall(newest, this.#readClocks())
    } catch (error) {
      // A damaged event must not prevent the start.
      this.#log.warn(`the clock cannot be compared with the newest event: ${messageOf(error)}`)
    }
  }

  async #newestOwnTime(): Promise<number | undefined> {
    const own = (await this.#store.streams()).filter(({ own, count, pruned }) => own && count > pruned)
    const times = own.map(
      async ({ number, count }) => (await this.#store.newestTime(number, count - 1, count - 1)).time,
    )
    return times.length > 0 ? Math.max(...(await Promise.all(times))) : undefined
  }

  set settings(settings: StreamSettings) {
    this.#limits = streamLimits(settings)
  }

  /** Prunes all streams once. A failure in one of them is thrown after the others were pruned. */
  async run(): Promise<void> {
    const isClockTrusted = this.#isClockTrusted()
    const own = (await this.#store.streams()).filter((stream) => stream.own)
    let failed = await this.#keepFrozenFacts(own)
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

  /** Runs at the longest interval of retention: it asks for each stream. Returns the error, since limits apply anyway. */
  async #keepFrozenFacts(own: readonly StreamStatus[]): Promise<Error | undefined> {
    const now = this.#options.clock.steadyMs()
    if (now < this.#frozenCheckFrom) return undefined
    try {
      await this.#facts.copyFrozen(own)
      this.#frozenCheckFrom = now + limits.maxRetentionMs
      return undefined
    } catch (error) {
      if (this.#stopped) return undefined
      return new Error(`facts of a frozen stream: ${messageOf(error)}`, { cause: error })
    }
  }

  /** False for a while after the clock was set: it may be wrong, and the operator needs time to correct it. */
  #isClockTrusted(): boolean {
    const doubt = this.#clockTrust.check(this.#readClocks(), this.#tolerableJump)
    this.#report(this.#ages.length > 0 ? doubt : undefined)
    return doubt === undefined
  }

  #report(doubt: ClockDoubt | undefined): void {
    if (doubt === this.#reported) return
    this.#reported = doubt
    if (doubt === undefined) this.#log.info('the clock is trusted again: events are removed for their age')
    else if (doubt.isProblem) this.#log.warn(doubt.detail)
    else this.#log.info(doubt.detail)
    this.#options.clockDoubted?.(doubt?.isProblem === true ? doubt.detail : undefined)
  }

  #readClocks(): ClockReading {
    const { clock, aheadOfPeers } = this.#options
    return { wall: clock.now(), steadyMs: clock.steadyMs(), aheadOfPeers: aheadOfPeers?.() ?? [] }
  }

  get #ages(): number[] {
    return [...this.#limits.values()].flatMap(({ maxAgeSeconds }) => maxAgeSeconds ?? [])
  }

  /** Half of the shortest `maxAge`: a larger step could remove events within their limits. */
  get #tolerableJump(): number {
    return Math.min(limits.clockJump, ...this.#ages.map((seconds) => (seconds * 1e6) / 2))
  }

  async #prune(name: string, stream: StreamStatus, kept: Retention): Promise<void> {
    const { number } = stream
    const chunks = await this.#store.chunkSizes(number)
    const bounds = boundsOf(chunks, kept, this.#options.clock.now())
    const isBefore: IsBefore = (chunk, from, time) => this.#isBefore(number, chunk, from, time)
    const end = await prunable(chunks, kept, bounds, isBefore)
    const whole = chunks.filter((chunk) => chunk.end <= end)
    if (whole.length > 0) {
      await this.#remove(
        stream,
        whole.map((chunk) => chunk.end),
      )
      this.#log.info(
        `removed ${end - (whole[0]?.first ?? 0)} events that were beyond the limits of the stream '${name}'`,
      )
    }
    await this.#pruneWithin(name, stream, chunks[whole.length], bounds)
  }

  /** Prunes the first frames of a chunk that is kept, if they are far beyond the limits. */
  async #pruneWithin(name: string, stream: StreamStatus, chunk: ChunkSize | undefined, bounds: Bounds): Promise<void> {
    if (chunk === undefined || this.#stopped) return
    const { number } = stream
    const { first } = chunk
    const firstTime = async (): Promise<number> => (await this.#store.newestTime(number, first, first)).time
    if (!(await isOverdue(chunk, bounds, firstTime))) return
    const end = endOfExpired(await this.#store.framesOfChunk(number, first), bounds)
    if (end === undefined) return
    await this.#remove(stream, [end])
    this.#log.debug(`removed ${end - first} events of a chunk that were beyond the limits of the stream '${name}'`)
  }

  /** Prunes up to each of the given ends, in batches. */
  async #remove(stream: StreamStatus, ends: readonly number[]): Promise<void> {
    const last = ends.at(-1)
    assert(last !== undefined, 'there is something to remove')
    await this.#facts.copyBefore(stream, last)
    for (let i = 0; i < ends.length; i += tuning.chunksPerPrune) {
      if (this.#stopped) return
      await this.#store.prune(stream.key.number, ends[i + tuning.chunksPerPrune - 1] ?? last)
    }
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
