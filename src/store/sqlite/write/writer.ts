import type { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
import { tuning } from '../../../base/tuning.ts'
import { MalformedBytes, type StreamKey } from '../../../protocol/index.ts'
import {
  type AppendedFrames,
  type AppliedEvidence,
  FrameCollector,
  type GivenChunk,
  type Imported,
  type ImportRequest,
  isReplicated,
  type MalformedChunk,
  type OwnHead,
  type PruneResult,
  type Received,
  type ReceiveOptions,
  type RedactionResult,
  type StartMarks,
  type StreamHead,
} from '../../../replication/index.ts'
import type { StoreDamage } from '../../disk/wal-check.ts'
import type { Appended, AppendRequest, StreamNumber, StreamRecords } from '../../port/index.ts'
import { SharedCounts } from '../read/shared-counts.ts'
import { applySeal, buildSeal, planSeal, type Sealed, type SealPlan } from '../seal/sealing.ts'
import { applyMerge, buildMerge, type Merged, type MergePlan, planMerge } from '../tag-index/merging.ts'
import { dropIndexAt, reindexNext } from '../tag-index/reindex.ts'
import { applyTimes, type BuiltTimes, buildTimes, planTimes, type TimesPlan } from '../time-index/missing-times.ts'
import { hasTimes } from '../time-index/range-times.ts'
import { Appender } from './append.ts'
import { ChunkVerifier, type VerifiedChunk } from './chunk-verifier.ts'
import { Forks } from './forks.ts'
import { Importer } from './importer.ts'
import { type LogOptions, LogState } from './log-state.ts'
import { OwnHistory } from './own-history.ts'
import { Receiver } from './receive.ts'
import { Redactor } from './redactor.ts'
import { Pruner } from './removal.ts'
import { streamRecords } from './stream-records.ts'

/** The only writer of the log of a topic. When a method returns, its changes are on disk. */
export class LogWriter {
  readonly counts: SharedCounts
  readonly #log: LogState
  readonly #appender: Appender
  readonly #importer: Importer
  readonly #forks: Forks
  readonly #receiver: Receiver
  readonly #verifier: ChunkVerifier
  readonly #pruner: Pruner
  readonly #redactor: Redactor
  readonly #history: OwnHistory
  /** Whether streams have got new events since the last `takeWakeups`. */
  #hasNewEvents = false
  /** Whether some of them were received, so that their apps are unknown. */
  #hasReceivedEvents = true
  /** Whether the index has changed since there was last nothing to merge: planning a merge queries all ranges. */
  #mayMerge = true
  /** Whether an index range may have no times: planning their times queries all ranges, too. */
  #mayLackTimes = true
  /** Ranges whose times could not be read. */
  readonly #unreadableTimes = new Set<number>()

  constructor(options: LogOptions, counts = new SharedCounts()) {
    this.counts = counts
    this.#log = new LogState(options)
    this.#appender = new Appender(this.#log)
    this.#importer = new Importer(this.#log)
    this.#forks = new Forks(this.#log)
    this.#receiver = new Receiver(this.#log, this.#forks)
    this.#verifier = new ChunkVerifier(options.kind)
    this.#pruner = new Pruner(this.#log, this.#receiver)
    this.#redactor = new Redactor(this.#log)
    this.#history = new OwnHistory(this.#log)
    this.#publishCounts()
  }

  /** The lamport timestamp of the next own event. */
  get clock(): number {
    return this.#log.clock.next
  }

  /** Number of chunks that have ended since the log was opened: there is more to seal only when it has changed. */
  get chunksEnded(): number {
    return this.#log.chunksEnded
  }

  append(requests: readonly AppendRequest[]): Appended[] {
    this.counts.incrementAppends()
    return this.#publishing(() => this.#appender.commit(requests))
  }

  /** Computes the deferred chain hash of the last append, off the latency path. */
  link(): void {
    this.#appender.link()
  }

  /** Verifies and stores a chunk. Throws if it breaks a rule. */
  receive(bytes: Uint8Array, { before, from }: ReceiveOptions = {}): Received {
    const [received] = this.receiveAll([{ bytes, before }], from)
    assert(received !== undefined, 'every chunk has an answer')
    if (received.state === 'malformed') throw new MalformedBytes(received.reason)
    return received
  }

  /** Verifies and stores chunks, without a pause. */
  receiveAll(chunks: readonly GivenChunk[], from?: string): (Received | MalformedChunk)[] {
    const checked = chunks.map((chunk) => this.#verifier.check(chunk))
    const sound = checked.flatMap((result) => ('state' in result ? [] : [result]))
    const steps = this.receiveVerified(sound, from)
    let step = steps.next()
    while (step.done !== true) step = steps.next()
    const answers = step.value.values()
    return checked.map((result) => ('state' in result ? result : (answers.next().value as Received)))
  }

  /** Stores verified chunks, see `Receiver`. Each step is a commit. */
  *receiveVerified(chunks: readonly VerifiedChunk[], from?: string): Generator<void, (Received | MalformedChunk)[]> {
    const steps = this.#receiver.receive(chunks, from)
    for (;;) {
      this.#hasReceivedEvents = true
      const { done, value } = this.#publishing(() => steps.next())
      // What readers have cached may be damaged.
      if (done === true && value.some(({ state }) => state === 'repaired')) this.counts.incrementRemovals()
      if (done === true) return value
      yield
    }
  }

  import(request: ImportRequest): Imported {
    this.#hasReceivedEvents = true
    return this.#publishing(() => this.#importer.import(request))
  }

  /** How the log was found when it was opened. */
  startMarks(): StartMarks {
    return this.#history.marks
  }

  markAnnounced(): void {
    this.#history.announce()
  }

  settleOwnStreams(): void {
    this.#history.settle()
  }

  /** The evidence of a fork of a stream; undefined when it is not frozen. */
  evidence(stream: number): Uint8Array | undefined {
    return this.#forks.evidence(stream)
  }

  applyEvidence(record: Uint8Array, options?: ReceiveOptions): AppliedEvidence {
    return this.#publishing(() => this.#forks.apply(record, options))
  }

  /** Returns which of these reader threads have to be woken: there are new events that match their filters. Resets it. */
  takeWakeups(readers: Iterable<number> = [0]): number[] {
    const { apps } = this.#appender
    const changed = this.#hasReceivedEvents ? undefined : apps
    const woken = this.#hasNewEvents
      ? [...readers].filter((reader) => this.counts.matchesWakeupFilter(reader, changed))
      : []
    this.#hasNewEvents = false
    this.#hasReceivedEvents = false
    apps.clear()
    return woken
  }

  prune(stream: number, count: number): Uint8Array {
    return this.#removing(() => this.#pruner.pruneOwn(stream, count))
  }

  applyPrune(record: Uint8Array, head?: Uint8Array, options?: ReceiveOptions): PruneResult {
    // Waiting chunks may be stored now.
    this.#hasReceivedEvents = true
    return this.#removing(
      () => this.#pruner.prune(record, head, options),
      ({ state }) => state === 'applied',
    )
  }

  redact(stream: number, offsets: readonly number[]): Uint8Array {
    return this.#removing(() => this.#redactor.redactOwn(stream, offsets))
  }

  applyRedactions(records: readonly Uint8Array[], options?: ReceiveOptions): RedactionResult[] {
    return this.#removing(
      () => this.#redactor.redact(records, options),
      (results) => results.some(({ state }) => state === 'applied'),
    )
  }

  /** Removes everything of a stream of another node. Returns whether it was known. */
  forgetStream(key: StreamKey): boolean {
    const known = this.#removing(
      () => this.#pruner.forget(key),
      (forgotten) => forgotten,
    )
    // Otherwise the next start would miss these events.
    if (known) this.#log.recordEventCount()
    return known
  }

  /** The records of a stream, by its number in this database. */
  records(stream: StreamNumber, from = 0, to: number = format.eventsPerStream): StreamRecords {
    return streamRecords(this.#log, stream, from, to)
  }

  /** The signed head of a stream, by its number in this database. */
  head(stream: number): Uint8Array | undefined {
    return this.#log.heads.newest(stream)
  }

  /** The newest signed heads of own streams. */
  ownHeads(): OwnHead[] {
    return this.#log.heads.allOwn()
  }

  /** The row of a stream in the head table. */
  headOf(key: StreamKey): StreamHead | undefined {
    return this.#log.heads.row(key)
  }

  /** Starts to collect the frames of commits, or ends it; see `FrameCollector`. Imported streams are never announced. */
  collectFrames(unread: (() => number) | undefined): void {
    this.#appender.frames =
      unread === undefined || !isReplicated(this.#log.options) ? undefined : new FrameCollector(unread)
  }

  /** The frames of the commits since the last call, with signed heads. Called after the commits were acknowledged. */
  takeAppended(): AppendedFrames[] {
    return this.#appender.frames?.take((stream) => this.#log.heads.own(stream)) ?? []
  }

  get database(): DatabaseSync {
    return this.#log.database
  }

  /** Plans the next seal, if a stream has at least `leastChunks` complete chunks. */
  planSeal(leastChunks = 1): SealPlan | undefined {
    return planSeal(this.#log, leastChunks)
  }

  /** Whether the backlog of unsealed chunks is so large that appending has to wait (backpressure). */
  get isSealBacklogFull(): boolean {
    return this.hasSealBacklog(tuning.maxUnsealedChunks)
  }

  /** Whether a stream has more unsealed chunks than a maximum. */
  hasSealBacklog(maxChunks: number): boolean {
    const maxEvents = maxChunks * format.eventsPerCheckpoint
    for (const { sealable, checkpoint, sealed, unsealedChunksAtMost } of this.#log.streams) {
      // By chunks as well, since those of large events have few of them. Their number is unknown before the first plan.
      const chunks = Number.isFinite(unsealedChunksAtMost) ? unsealedChunksAtMost : 0
      if (sealable && (checkpoint - sealed > maxEvents || chunks > maxChunks)) return true
    }
    return false
  }

  /** Replaces rows of the tail by sealed chunks; false when the plan is outdated. */
  applySeal(sealed: Sealed): boolean {
    return this.#indexing(() => this.#publishing(() => applySeal(this.#log, sealed)))
  }

  /** Excludes a stream from sealing, since a chunk of it is damaged. */
  disableSealing({ stream, revision }: SealPlan): void {
    for (const state of this.#log.streams)
      if (state.number === stream && state.revision === revision) state.sealable = false
  }

  /** Plans the next merge of index ranges, if there are enough of them. */
  planMerge(): MergePlan | undefined {
    if (!this.#mayMerge) return undefined
    const plan = planMerge(this.#log)
    this.#mayMerge = plan !== undefined
    return plan
  }

  applyMerge(merged: Merged): boolean {
    return this.#indexing(() => applyMerge(this.#log, merged))
  }

  /** Plans the times of an index range that has none. */
  planTimes(): TimesPlan | undefined {
    if (!this.#mayLackTimes || !hasTimes(this.#log.database)) return undefined
    const plan = planTimes(this.#log, this.#unreadableTimes)
    this.#mayLackTimes = plan !== undefined
    return plan
  }

  applyTimes(built: BuiltTimes): boolean {
    return this.#indexing(() => applyTimes(this.#log, built))
  }

  /** Whether nothing was removed from the stream since the plan was made. */
  isCurrent({ range, revision }: TimesPlan): boolean {
    return [...this.#log.streams].some(({ number, revision: now }) => number === range.stream && now === revision)
  }

  /** Leaves a range without times, since events of it are damaged: a query that reads them fails. */
  skipTimes({ range }: TimesPlan): void {
    this.#unreadableTimes.add(range.id)
  }

  /** Drops the damaged ranges of a merge plan. */
  dropDamagedIndex({ stream, ranges }: MergePlan): void {
    for (const { first } of ranges) this.dropIndexAt(stream, first)
  }

  /** Seals chunks in the calling thread. */
  sealInline(plan: SealPlan): boolean {
    return this.applySeal(buildSeal(this.#log.database, plan))
  }

  /** Seals all complete chunks and completes the index, in the calling thread. */
  sealAll(): void {
    for (let plan = this.planSeal(); plan !== undefined; plan = this.planSeal()) this.sealInline(plan)
    for (let plan = this.planMerge(); plan !== undefined; plan = this.planMerge())
      this.applyMerge(buildMerge(this.#log.database, plan))
    for (let plan = this.planTimes(); plan !== undefined; plan = this.planTimes())
      this.applyTimes(buildTimes(this.#log.database, plan))
  }

  /** Rebuilds a missing range of the index. Returns whether there was one. */
  reindexNext(): boolean {
    const done = reindexNext(this.#log)
    if (done) this.#onIndexChanged()
    return done
  }

  /** Drops a damaged range of the index. It is rebuilt when the writer is idle. */
  dropIndexAt(stream: number, offset: number): void {
    this.#indexing(() => dropIndexAt(this.#log, stream, offset))
  }

  /** Runs a checkpoint of the write-ahead log. Its file keeps its size: overwriting is faster than growing it again. */
  checkpointWal(): void {
    this.#log.connection.checkpointWal('PASSIVE')
    this.recordEventCount()
  }

  /** Runs a checkpoint, and truncates the write-ahead log. */
  truncateWal(): void {
    this.#log.connection.checkpointWal('TRUNCATE')
    this.recordEventCount()
  }

  /** A write without effect, to find out whether the disk works. */
  probe(): void {
    this.#log.connection.probe()
  }

  /** Damage that was found when the log was opened. */
  get damage(): readonly StoreDamage[] {
    return this.#log.damage
  }

  /** Writes the number of events to the count file, without waiting for it. */
  recordEventCount(): void {
    this.#log.recordEventCount()
  }

  close(): void {
    this.#log.recordEventCount()
    this.#log.close()
  }

  #publishing<T>(work: () => T): T {
    try {
      return work()
    } finally {
      this.#publishCounts()
    }
  }

  #indexing<T>(work: () => T): T {
    try {
      return work()
    } finally {
      this.#onIndexChanged()
    }
  }

  #onIndexChanged(): void {
    this.#mayMerge = true
    this.#mayLackTimes = true
    this.counts.incrementSeals()
  }

  /** Readers drop what they have cached, unless nothing was removed: a record without effect must not slow them down. */
  #removing<T>(work: () => T, hasRemoved: (result: T) => boolean = () => true): T {
    let removed = true
    try {
      const result = this.#publishing(work)
      removed = hasRemoved(result)
      return result
    } finally {
      this.#mayMerge ||= removed
      if (removed) this.counts.incrementRemovals()
    }
  }

  /**
   * Publishes a commit to the readers. The clock is ahead of all published events, so the lamport timestamps of own
   * events ascend from commit to commit, and a later snapshot adds own events only after those of an earlier one.
   */
  #publishCounts(): void {
    const { changed, clock } = this.#log
    // Before the counts: a reader that sees events of a stream knows the stream.
    if (this.#log.slotsChanged) this.counts.incrementSlotChanges()
    this.#log.slotsChanged = false
    for (const { number, count, lamport } of changed) {
      assert(lamport < clock.next, 'the clock is ahead of all events that are published')
      assert(count >= this.counts.count(number), 'a stream never loses events that were published')
      if (count > this.counts.count(number)) this.#hasNewEvents = true
    }
    this.counts.publish(changed)
    changed.clear()
  }
}
