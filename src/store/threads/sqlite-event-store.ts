import { assert } from '../../base/assert.ts'
import { type Hash, pruneRecords, type StreamKey, streamOfRedaction } from '../../protocol/index.ts'
import type {
  AppendedFrames,
  AppliedEvidence,
  GivenChunk,
  HeadPlace,
  Imported,
  ImportRequest,
  OwnHead,
  PruneResult,
  Received,
  ReceivedTogether,
  ReceiveOptions,
  RedactionResult,
  StartMarks,
  StreamHead,
} from '../../replication/index.ts'
import { CommitListeners } from '../commit-listeners.ts'
import type {
  Appended,
  AppendRequest,
  Checkpoint,
  ChunkSize,
  EventStore,
  FrameTime,
  NewestTime,
  Reading,
  Selection,
  StreamRecords,
  StreamStatus,
} from '../port/index.ts'
import type { LogLink } from './link/log-link.ts'
import { type EventStoreOptions, StoreThreads } from './store-threads.ts'
import { receivedOne } from './verifier/chunk-receiving.ts'

export type { EventStoreOptions } from './store-threads.ts'

/** The events of a topic in an SQLite database, with a writer thread, reader threads and a sealer thread. */
export class SqliteEventStore implements EventStore {
  readonly #options: EventStoreOptions
  readonly #threads: StoreThreads
  readonly #listeners = new CommitListeners()

  private constructor(options: EventStoreOptions) {
    this.#options = options
    this.#threads = new StoreThreads(options, (requests) => {
      options.committed?.(requests)
      this.#listeners.notify()
    })
  }

  static async open(options: EventStoreOptions): Promise<SqliteEventStore> {
    const store = new SqliteEventStore(options)
    await store.#threads.open()
    return store
  }

  append(request: AppendRequest): Promise<Appended> {
    return this.#threads.append(request)
  }

  async import(request: ImportRequest): Promise<Imported> {
    const imported = (await this.#threads.write('import', request)) as Imported
    if (imported.added > 0) this.#listeners.notify()
    return imported
  }

  async receive(bytes: Uint8Array, { before, from }: ReceiveOptions = {}): Promise<Received> {
    return receivedOne(await this.receiveAll([{ bytes, before }], { from }))
  }

  async receiveAll(
    chunks: readonly GivenChunk[],
    { from }: Pick<ReceiveOptions, 'from'> = {},
  ): Promise<ReceivedTogether> {
    const received = await this.#threads.receive(chunks, from)
    // Before a fork was found, events may have been stored.
    if (received.answers.some(({ state }) => state === 'stored' || state === 'forked')) this.#listeners.notify()
    return received
  }

  async prune(stream: number, count: number): Promise<Uint8Array> {
    const record = (await this.#threads.write('prune', stream, count)) as Uint8Array
    this.#options.removed?.(pruneRecords.decode(record).stream)
    return record
  }

  async applyPrune(record: Uint8Array, head?: Uint8Array, options?: ReceiveOptions): Promise<PruneResult> {
    const result = (await this.#threads.write('applyPrune', record, head, options)) as PruneResult
    // Waiting chunks may have been stored.
    if (result.state === 'applied') this.#listeners.notify()
    return result
  }

  onCommit(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  onAppended(listener: (appended: readonly AppendedFrames[]) => void): () => void {
    return this.#threads.onAppended(listener)
  }

  async redact(stream: number, offsets: readonly number[]): Promise<Uint8Array> {
    const record = (await this.#threads.write('redact', stream, offsets)) as Uint8Array
    this.#options.removed?.(streamOfRedaction(record), record)
    return record
  }

  async applyRedaction(record: Uint8Array, options?: ReceiveOptions): Promise<RedactionResult> {
    const [result] = await this.applyRedactions([record], options)
    assert(result !== undefined, 'every record has a result')
    return result
  }

  applyRedactions(records: readonly Uint8Array[], options?: ReceiveOptions): Promise<RedactionResult[]> {
    return this.#threads.write('applyRedactions', records, options) as Promise<RedactionResult[]>
  }

  async forgetStream(key: StreamKey): Promise<boolean> {
    const isKnown = (await this.#threads.write('forgetStream', key)) as boolean
    if (isKnown) this.#options.removed?.(key)
    return isKnown
  }

  evidence(stream: number): Promise<Uint8Array | undefined> {
    return this.#threads.write('evidence', stream) as Promise<Uint8Array | undefined>
  }

  applyEvidence(record: Uint8Array, options?: ReceiveOptions): Promise<AppliedEvidence> {
    return this.#threads.write('applyEvidence', record, options) as Promise<AppliedEvidence>
  }

  streams(): Promise<StreamStatus[]> {
    return this.#threads.read({ type: 'streams' }) as Promise<StreamStatus[]>
  }

  head(stream: number): Promise<Uint8Array | undefined> {
    return this.#threads.write('head', stream) as Promise<Uint8Array | undefined>
  }

  records(stream: number, from?: number, to?: number): Promise<StreamRecords> {
    return this.#threads.write('records', stream, from, to) as Promise<StreamRecords>
  }

  checkpoints(stream: number): Promise<Checkpoint[]> {
    return this.#threads.read({ type: 'checkpoints', stream }) as Promise<Checkpoint[]>
  }

  chunkSizes(stream: number): Promise<ChunkSize[]> {
    return this.#threads.read({ type: 'chunkSizes', stream }) as Promise<ChunkSize[]>
  }

  newestTime(stream: number, from: number, to: number): Promise<NewestTime> {
    return this.#threads.read({ type: 'newestTime', stream, from, to }) as Promise<NewestTime>
  }

  framesOfChunk(stream: number, from: number): Promise<FrameTime[]> {
    return this.#threads.read({ type: 'framesOfChunk', stream, from }) as Promise<FrameTime[]>
  }

  redactedOffsets(stream: number, from: number, to: number): Promise<number[]> {
    return this.#threads.read({ type: 'redactedOffsets', stream, from, to }) as Promise<number[]>
  }

  async chunk(stream: number, from: number, maxBytes?: number): Promise<Uint8Array | undefined> {
    const newest = await this.head(stream)
    return (await this.#threads.read({ type: 'chunk', stream, from, newest, maxBytes })) as Uint8Array | undefined
  }

  async chunks(stream: number, from: number, maxBytes: number): Promise<Uint8Array[]> {
    const newest = await this.head(stream)
    return (await this.#threads.read({ type: 'chunks', stream, from, newest, maxBytes })) as Uint8Array[]
  }

  hashAt(stream: number, count: number): Promise<Hash | 'pruned' | undefined> {
    return this.#threads.read({ type: 'hashAt', stream, count }) as Promise<Hash | 'pruned' | undefined>
  }

  checkpointsAfter(stream: number, count: number, most: number): Promise<Checkpoint[]> {
    return this.#threads.read({ type: 'checkpointsAfter', stream, count, most }) as Promise<Checkpoint[]>
  }

  async heads(): Promise<StreamHead[]> {
    // Own heads are signed by the writer, those of other nodes are read from the database.
    const own = (await this.#threads.write('ownHeads')) as OwnHead[]
    return (await this.#threads.read({ type: 'headTable', own })) as StreamHead[]
  }

  headOf(key: StreamKey): Promise<StreamHead | undefined> {
    return this.#threads.write('headOf', key) as Promise<StreamHead | undefined>
  }

  streamOf(key: StreamKey): Promise<StreamStatus | undefined> {
    return this.#threads.read({ type: 'streamOf', key }) as Promise<StreamStatus | undefined>
  }

  contains(head: Uint8Array): Promise<HeadPlace> {
    return this.#threads.read({ type: 'contains', head }) as Promise<HeadPlace>
  }

  startMarks(): Promise<StartMarks> {
    return this.#threads.write('startMarks') as Promise<StartMarks>
  }

  async markAnnounced(): Promise<void> {
    await this.#threads.write('markAnnounced')
  }

  async settleOwnStreams(): Promise<void> {
    await this.#threads.write('settleOwnStreams')
  }

  clockRecord(): Promise<string | undefined> {
    return this.#threads.write('clockRecord') as Promise<string | undefined>
  }

  async saveClockRecord(record: string): Promise<void> {
    await this.#threads.write('saveClockRecord', record)
  }

  /** Seals all complete chunks and checkpoints the WAL. */
  async settle(): Promise<void> {
    await this.#threads.write('sealAll')
    await this.#threads.write('truncateWal')
  }

  /** Tests with a write that changes nothing whether the disk works again. */
  probe(): Promise<void> {
    return this.#threads.probe()
  }

  /** Changes the capacity of the caches of all reader threads together. */
  set cacheBytes(bytes: number) {
    this.#threads.cacheBytes = bytes
  }

  read(selection: Selection): Reading {
    return this.start('read', selection)
  }

  /**
   * A link by which another thread replicates this log, see `LinkedLog`. What that thread receives is not told to
   * `onCommit` here. It has to close the link before the store is closed.
   */
  link(): LogLink {
    return this.#threads.link()
  }

  /** Starts a job of the reader module. */
  start(job: string, request: unknown): Reading {
    return this.#threads.start(job, request)
  }

  close(): Promise<void> {
    return this.#threads.close()
  }
}
