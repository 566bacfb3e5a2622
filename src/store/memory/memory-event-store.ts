import { assert } from '../../base/assert.ts'
import { ShoalError } from '../../base/errors.ts'
import { format } from '../../base/format.ts'
import { type Hash, heads, type StreamKey } from '../../protocol/index.ts'
import {
  type AppendedFrames,
  type AppliedEvidence,
  chunkFrom,
  chunksFrom,
  doubtOf,
  type GivenChunk,
  type HeadPlace,
  hashAt,
  type Imported,
  type ImportRequest,
  newStoreMarks,
  type PruneResult,
  placeOf,
  type Received,
  type ReceivedTogether,
  type ReceiveOptions,
  type RedactionResult,
  requireForgettable,
  requireReceivable,
  requireSameTopic,
  rowsOfChunks,
  type StartMarks,
  type StreamHead,
  type TopicContext,
} from '../../replication/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { CommitListeners } from '../commit-listeners.ts'
import type { JobSet } from '../jobs/job.ts'
import { LocalJobs } from '../jobs/local-jobs.ts'
import { makeReadJob } from '../jobs/read-job.ts'
import {
  type Appended,
  type AppendRequest,
  type Checkpoint,
  type ChunkSize,
  type EventStore,
  type FrameTime,
  type NewestTime,
  type Reading,
  recordsOf,
  type Selection,
  type StreamRecords,
  type StreamStatus,
} from '../port/index.ts'
import { MemoryAppender } from './memory-appender.ts'
import { MemoryImporter } from './memory-importer.ts'
import { MemoryReader } from './memory-reader.ts'
import { MemoryReceiver } from './memory-receiver.ts'
import { MemoryRemover } from './memory-remover.ts'
import type { MemoryStream } from './memory-stream.ts'
import { MemoryStreams } from './memory-streams.ts'

export interface MemoryEventStoreOptions extends TopicContext {
  /** The jobs that it runs; by default only `read`. */
  readonly jobs?: JobSet
  readonly runtime: Runtime
  /** How it was found; by default it is new. */
  readonly marks?: StartMarks
}

/**
 * An in-memory event store: the reference implementation, without optimisations. Every call is synchronous inside, so
 * that seeded simulations are deterministic.
 */
export class MemoryEventStore implements EventStore {
  readonly #options: MemoryEventStoreOptions
  readonly #streams: MemoryStreams
  readonly #appender: MemoryAppender
  readonly #importer: MemoryImporter
  readonly #receiver: MemoryReceiver
  readonly #remover: MemoryRemover
  readonly #jobs: LocalJobs
  readonly #listeners = new CommitListeners()
  readonly #appended = new CommitListeners<[readonly AppendedFrames[]]>()
  readonly #marks: StartMarks
  #isAnnounced: boolean
  #clockRecord: string | undefined
  #closed = false

  constructor(options: MemoryEventStoreOptions) {
    this.#options = options
    this.#marks = options.marks ?? newStoreMarks
    this.#isAnnounced = this.#marks.isAnnounced
    const { jobs = { makers: { read: makeReadJob } }, runtime } = options
    this.#streams = new MemoryStreams(options)
    this.#streams.isDoubtful = doubtOf(this.#marks) !== undefined
    this.#appender = new MemoryAppender(this.#streams, runtime.random)
    this.#importer = new MemoryImporter(this.#streams, this.#appender, runtime.random)
    this.#receiver = new MemoryReceiver(this.#streams)
    this.#remover = new MemoryRemover(this.#streams, this.#receiver)
    this.#jobs = new LocalJobs(new MemoryReader(this.#streams.all), { jobs, runtime })
  }

  async append(request: AppendRequest): Promise<Appended> {
    this.#check()
    const appended = this.#appender.append(request)
    this.#committed()
    const frames = this.#appender.takeAppended()
    if (frames.length > 0) this.#appended.notify(frames)
    return appended
  }

  async import(request: ImportRequest): Promise<Imported> {
    this.#check()
    const imported = this.#importer.import(request)
    if (imported.added > 0) this.#committed()
    return imported
  }

  async receive(chunk: Uint8Array, options: ReceiveOptions = {}): Promise<Received> {
    this.#check()
    const received = this.#receiver.receive(chunk, options)
    // Before a fork was found, events may have been stored.
    if (received.state === 'stored' || received.state === 'forked') this.#committed()
    return received
  }

  async receiveAll(
    chunks: readonly GivenChunk[],
    { from }: Pick<ReceiveOptions, 'from'> = {},
  ): Promise<ReceivedTogether> {
    this.#check()
    requireReceivable(chunks)
    const answers = chunks.map((chunk) => this.#receiver.receiveGiven(chunk, from))
    if (answers.some(({ state }) => state === 'stored' || state === 'forked')) this.#committed()
    return { answers, rows: rowsOfChunks(chunks, (key) => this.#rowOf(key)) }
  }

  async evidence(number: number): Promise<Uint8Array | undefined> {
    this.#check()
    return this.#streams.at(number)?.fork?.record
  }

  async applyEvidence(record: Uint8Array, options: ReceiveOptions = {}): Promise<AppliedEvidence> {
    this.#check()
    return this.#receiver.applyEvidence(record, options)
  }

  async prune(number: number, count: number): Promise<Uint8Array> {
    this.#check()
    return this.#remover.pruneOwn(number, count)
  }

  async applyPrune(record: Uint8Array, head?: Uint8Array, options: ReceiveOptions = {}): Promise<PruneResult> {
    this.#check()
    const result = this.#remover.prune(record, head, options)
    // Waiting chunks may have been stored.
    if (result.state === 'applied') this.#committed()
    return result
  }

  onCommit(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  onAppended(listener: (appended: readonly AppendedFrames[]) => void): () => void {
    const remove = this.#appended.add(listener)
    this.#appender.collectFrames(true)
    return () => {
      remove()
      if (this.#appended.size === 0) this.#appender.collectFrames(false)
    }
  }

  async redact(number: number, offsets: readonly number[]): Promise<Uint8Array> {
    this.#check()
    return this.#remover.redactOwn(number, offsets)
  }

  async applyRedaction(record: Uint8Array, options?: ReceiveOptions): Promise<RedactionResult> {
    const [result] = await this.applyRedactions([record], options)
    assert(result !== undefined, 'every record has a result')
    return result
  }

  async applyRedactions(records: readonly Uint8Array[], options: ReceiveOptions = {}): Promise<RedactionResult[]> {
    this.#check()
    return this.#remover.redact(records, options)
  }

  async forgetStream(key: StreamKey): Promise<boolean> {
    this.#check()
    requireForgettable(key, this.#options)
    const stream = this.#streams.find(key)
    if (stream !== undefined) this.#streams.forget(stream)
    return stream !== undefined
  }

  async streams(): Promise<StreamStatus[]> {
    this.#check()
    return this.#streams.all.filter((stream) => !stream.isVacant).map(statusOf)
  }

  read(selection: Selection): Reading {
    return this.start('read', selection)
  }

  start(job: string, request: unknown): Reading {
    return this.#jobs.start(job, request)
  }

  async head(number: number): Promise<Uint8Array | undefined> {
    this.#check()
    const stream = this.#streams.at(number)
    return stream === undefined ? undefined : this.#streams.head(stream)
  }

  async records(number: number, from = 0, to: number = format.eventsPerStream): Promise<StreamRecords> {
    this.#check()
    const stream = this.#streams.at(number)
    if (stream === undefined) return { redactions: [] }
    const [record, head] = [stream.pruneRecord, stream.checkpoints.get(stream.position.pruned)]
    const prune = record !== undefined && head !== undefined ? { record, head } : undefined
    return { ...(prune && { prune }), ...recordsOf(stream.redactionsBetween(from, to)) }
  }

  async checkpoints(number: number): Promise<Checkpoint[]> {
    this.#check()
    return [...(this.#streams.at(number)?.checkpoints ?? [])].map(([count, head]) => ({ count, head }))
  }

  async checkpointsAfter(number: number, count: number, most: number): Promise<Checkpoint[]> {
    const later = (await this.checkpoints(number)).filter((checkpoint) => checkpoint.count > count)
    return later.slice(0, most)
  }

  async chunkSizes(number: number): Promise<ChunkSize[]> {
    this.#check()
    return this.#streams.at(number)?.chunkSizes() ?? []
  }

  async newestTime(number: number, from: number, to: number): Promise<NewestTime> {
    this.#check()
    const time = this.#streams.at(number)?.newestTime(from, to)
    if (time === undefined) throw new ShoalError('ERR_INVALID_INPUT', `The event ${to} was pruned.`)
    return { first: from, time }
  }

  async framesOfChunk(number: number, from: number): Promise<FrameTime[]> {
    this.#check()
    return this.#streams.at(number)?.framesOfChunk(from) ?? []
  }

  async redactedOffsets(number: number, from: number, to: number): Promise<number[]> {
    this.#check()
    return this.#streams.at(number)?.redactedBetween(from, to) ?? []
  }

  async chunk(number: number, from: number, maxBytes?: number): Promise<Uint8Array | undefined> {
    this.#check()
    const stream = this.#streams.at(number)
    return stream && chunkFrom(this.#streams.stored(stream), this.#streams.head(stream), from, maxBytes)
  }

  async chunks(number: number, from: number, maxBytes: number): Promise<Uint8Array[]> {
    this.#check()
    const stream = this.#streams.at(number)
    return stream === undefined
      ? []
      : chunksFrom(this.#streams.stored(stream), this.#streams.head(stream), from, maxBytes)
  }

  async hashAt(number: number, count: number): Promise<Hash | 'pruned' | undefined> {
    this.#check()
    const stream = this.#streams.at(number)
    return stream && hashAt(this.#streams.stored(stream), count)
  }

  async heads(): Promise<StreamHead[]> {
    this.#check()
    return this.#streams.all.map((stream) => this.#streams.headRow(stream)).filter((row) => row !== undefined)
  }

  async headOf(key: StreamKey): Promise<StreamHead | undefined> {
    this.#check()
    return this.#rowOf(key)
  }

  async streamOf(key: StreamKey): Promise<StreamStatus | undefined> {
    this.#check()
    const stream = this.#streams.find(key)
    return stream && statusOf(stream)
  }

  async contains(signed: Uint8Array): Promise<HeadPlace> {
    this.#check()
    const head = heads.verify(signed)
    requireSameTopic(head.topic, this.#options)
    const stream = this.#streams.find(head.stream)
    return placeOf(head, stream && this.#streams.stored(stream))
  }

  async startMarks(): Promise<StartMarks> {
    this.#check()
    return this.#marks
  }

  async markAnnounced(): Promise<void> {
    this.#check()
    this.#isAnnounced = true
  }

  async settleOwnStreams(): Promise<void> {
    this.#check()
    this.#streams.isDoubtful = false
    for (const stream of this.#streams.all) if (stream.own) stream.dropExpectedRedactions()
  }

  async clockRecord(): Promise<string | undefined> {
    this.#check()
    return this.#clockRecord
  }

  async saveClockRecord(record: string): Promise<void> {
    this.#check()
    this.#clockRecord = record
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#jobs.close(storeClosed())
  }

  /**
   * A store with the same streams, as a node finds it that starts with a copy, or after a crash. Also of a closed store.
   * @param found how it differs from one that was closed cleanly
   */
  copy(found: Partial<StartMarks>): MemoryEventStore {
    const marks = { ...newStoreMarks, isAnnounced: this.#isAnnounced, ...found }
    const copy = new MemoryEventStore({ ...this.#options, marks })
    copy.#streams.copyFrom(this.#streams)
    copy.#clockRecord = this.#clockRecord
    return copy
  }

  #check(): void {
    if (this.#closed) throw storeClosed()
  }

  #rowOf(key: StreamKey): StreamHead | undefined {
    const stream = this.#streams.find(key)
    return stream && this.#streams.headRow(stream)
  }

  #committed(): void {
    this.#jobs.wake()
    this.#listeners.notify()
  }
}

function statusOf({ number, key, own, position: { count, pruned } }: MemoryStream): StreamStatus {
  return { number, key, own, count, pruned }
}

function storeClosed(): Error {
  return new Error('the store is closed')
}
