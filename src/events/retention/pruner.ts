import { assert } from '../../base/assert.ts'
import { messageOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import type { Logger } from '../../logging/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Retention } from '../../settings/index.ts'
import type { ChunkSize, EventStore, StreamStatus } from '../../store/index.ts'
import type { StreamNames } from '../stream-names.ts'
import type { EffectiveTime } from './clock-eras.ts'
import { ClockWatch, type ClockWatchOptions } from './clock-watch.ts'
import { FactCopies } from './fact-copies.ts'
import { type Bounds, boundsOf, type DatedFrame, endOfExpired, type IsBefore, isOverdue, prunable } from './prunable.ts'
import { type StreamSettings, streamLimits } from './stream-limits.ts'

/** Prunes own streams by their retention limits. All of its state is in the store, so a restart changes nothing. */
export class Pruner {
  readonly #store: EventStore
  readonly #names: StreamNames
  readonly #facts: FactCopies
  readonly #clock: Clock
  readonly #clockWatch: ClockWatch
  readonly #log: Logger
  #limits = streamLimits({})
  /** The reading of the monotonic clock from which frozen streams are looked for again. */
  #frozenCheckFrom = 0
  #stopped = false

  constructor(store: EventStore, names: StreamNames, options: ClockWatchOptions) {
    this.#store = store
    this.#names = names
    this.#facts = new FactCopies(store, names)
    this.#clock = options.clock
    this.#clockWatch = new ClockWatch(store, options)
    this.#log = options.log
  }

  /** Compares the clock with that of the last run. Called before the first event of this run, which would hide a change. */
  async recallClock(): Promise<void> {
    await this.#clockWatch.recall(this.#ages)
  }

  set settings(settings: StreamSettings) {
    this.#limits = streamLimits(settings)
  }

  /** Prunes all streams once. A failure in one of them is thrown after the others were pruned. */
  async run(): Promise<void> {
    const { now, isTrusted } = this.#clockWatch.check(this.#ages)
    let failed = await this.#unlessStopped('what the clock shows', () => this.#clockWatch.save(this.#ages))
    const own = (await this.#store.streams()).filter((stream) => stream.own)
    failed ??= await this.#keepFrozenFacts(own)
    for (const [name, { maxAgeSeconds, ...others }] of this.#limits) {
      const stream = own.find(({ key }) => key.number === this.#names.numbers.get(name))
      if (stream === undefined) continue
      const kept = isTrusted && maxAgeSeconds !== undefined ? { ...others, maxAgeSeconds } : others
      try {
        await this.#prune(name, stream, { kept, now })
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
    const now = this.#clock.steadyMs()
    if (now < this.#frozenCheckFrom) return undefined
    return this.#unlessStopped('facts of a frozen stream', async () => {
      await this.#facts.copyFrozen(own)
      this.#frozenCheckFrom = now + limits.maxRetentionMs
    })
  }

  /** Returns the error, which does not prevent the rest of a run. */
  async #unlessStopped(what: string, work: () => Promise<void>): Promise<Error | undefined> {
    try {
      await work()
      return undefined
    } catch (error) {
      return this.#stopped ? undefined : new Error(`${what}: ${messageOf(error)}`, { cause: error })
    }
  }

  get #ages(): number[] {
    return [...this.#limits.values()].flatMap(({ maxAgeSeconds }) => maxAgeSeconds ?? [])
  }

  async #prune(
    name: string,
    stream: StreamStatus,
    { kept, now }: { readonly kept: Retention; readonly now: number },
  ): Promise<void> {
    const { number } = stream
    const chunks = await this.#store.chunkSizes(number)
    const bounds = boundsOf(chunks, kept, now)
    const isBefore: IsBefore = (chunk, from, time) => this.#isBefore(number, chunk, { from, time, now })
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
    await this.#pruneWithin(name, stream, chunks.slice(whole.length), bounds)
  }

  /** Prunes the first frames of the chunks that are kept, if they are far beyond the limits. */
  async #pruneWithin(name: string, stream: StreamStatus, chunks: readonly ChunkSize[], bounds: Bounds): Promise<void> {
    const [chunk] = chunks
    if (chunk === undefined || this.#stopped) return
    const { number } = stream
    const { eras } = this.#clockWatch
    const { first } = chunk
    const firstTime = async (): Promise<EffectiveTime> =>
      eras.timeOf((await this.#store.newestTime(number, first, first)).time, bounds.now)
    if (!(await isOverdue(chunk, bounds, firstTime))) return
    const end = await this.#endOfExpired(number, chunks, bounds)
    if (end === undefined) return
    await this.#remove(stream, [end])
    this.#log.debug(`removed ${end - first} events of a chunk that were beyond the limits of the stream '${name}'`)
  }

  /** Goes on to the next chunk if the age of all events of one is unknown. */
  async #endOfExpired(stream: number, chunks: readonly ChunkSize[], bounds: Bounds): Promise<number | undefined> {
    const { eras } = this.#clockWatch
    let last: number | undefined
    for (const { first } of chunks) {
      const frames = (await this.#store.framesOfChunk(stream, first)).map(
        ({ end, time }): DatedFrame => ({ end, written: eras.timeOf(time, bounds.now) }),
      )
      const { end, isOpen } = endOfExpired(frames, bounds)
      last = end ?? last
      if (!isOpen || this.#stopped) return last
    }
    return last
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
  async #isBefore(
    stream: number,
    { first, end }: ChunkSize,
    { from, time, now }: { readonly from: number; readonly time: number; readonly now: number },
  ): Promise<boolean> {
    const start = Math.max(first, from)
    for (let to = end - 1; to >= start; ) {
      const newest = await this.#store.newestTime(stream, start, to)
      if (this.#clockWatch.eras.latestUpTo(newest.time, now) >= time) return false
      to = newest.first - 1
    }
    return true
  }
}
