import type { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
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
import { Appender } from './append.ts'
import { ChunkVerifier, type VerifiedChunk } from './chunk-verifier.ts'
import { Forks } from './forks.ts'
import { Importer } from './importer.ts'
import { type LogOptions, LogState } from './log-state.ts'
import { OwnHistory } from './own-history.ts'
import { Publication } from './publication.ts'
import { Receiver } from './receive.ts'
import { Redactor } from './redactor.ts'
import { Pruner } from './removal.ts'
import { streamRecords } from './stream-records.ts'
import { LogUpkeep } from './upkeep.ts'

/** The only writer of the log of a topic. When a method returns, its changes are on disk. */
export class LogWriter {
  readonly counts: SharedCounts
  /** Seals chunks and maintains the indexes. */
  readonly upkeep: LogUpkeep
  readonly #log: LogState
  readonly #publication: Publication
  readonly #appender: Appender
  readonly #importer: Importer
  readonly #forks: Forks
  readonly #receiver: Receiver
  readonly #verifier: ChunkVerifier
  readonly #pruner: Pruner
  readonly #redactor: Redactor
  readonly #history: OwnHistory

  constructor(options: LogOptions, counts = new SharedCounts()) {
    this.counts = counts
    this.#log = new LogState(options)
    this.#publication = new Publication(this.#log, counts)
    this.#appender = new Appender(this.#log)
    this.#importer = new Importer(this.#log)
    this.#forks = new Forks(this.#log)
    this.#receiver = new Receiver(this.#log, this.#forks, () => this.#publication.noteReceived())
    this.#verifier = new ChunkVerifier(options.kind)
    this.#pruner = new Pruner(this.#log, this.#receiver)
    this.#redactor = new Redactor(this.#log)
    this.#history = new OwnHistory(this.#log)
    this.#history.dropHeads()
    this.upkeep = new LogUpkeep(this.#log, this.#publication)
    this.#publication.publish()
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
      const { done, value } = this.#publishing(() => steps.next())
      // What readers have cached may be damaged.
      if (done === true && value.some(({ state }) => state === 'repaired')) this.counts.incrementRemovals()
      if (done === true) return value
      yield
    }
  }

  import(request: ImportRequest): Imported {
    this.#publication.noteReceived()
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

  clockRecord(): string | undefined {
    return this.#history.clockRecord
  }

  saveClockRecord(record: string): void {
    this.#history.saveClockRecord(record)
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
    const [appended, received] = [this.#appender.apps, this.#receiver.apps]
    const woken = this.#publication.takeWakeups(readers, appended.union(received))
    appended.clear()
    received.clear()
    return woken
  }

  prune(stream: number, count: number): Uint8Array {
    return this.#removing(() => this.#pruner.pruneOwn(stream, count))
  }

  applyPrune(record: Uint8Array, head?: Uint8Array, options?: ReceiveOptions): PruneResult {
    // Waiting chunks may be stored now.
    this.#publication.noteReceived()
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

  /** Stores the newest signed heads of own streams, before the node gets another key. */
  storeOwnHeads(): void {
    this.#history.storeHeads()
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

  /** Seals all complete chunks and completes the index, in the calling thread. */
  sealAll(): void {
    this.upkeep.sealAll()
  }

  /** Drops a damaged range of the index. It is rebuilt when the writer is idle. */
  dropIndexAt(stream: number, offset: number): void {
    this.upkeep.dropIndexAt(stream, offset)
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
      this.#publication.publish()
    }
  }

  /** Readers drop what they have cached, unless nothing was removed: a record without effect must not slow them down. */
  #removing<T>(work: () => T, hasRemoved: (result: T) => boolean = () => true): T {
    let removed = true
    try {
      const result = this.#publishing(work)
      removed = hasRemoved(result)
      return result
    } finally {
      if (removed) {
        this.upkeep.noteRemoval()
        this.counts.incrementRemovals()
      }
    }
  }
}
