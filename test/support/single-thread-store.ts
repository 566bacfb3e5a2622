import { queryJobs } from '../../src/events/query/query-jobs.ts'
import type { StreamKey } from '../../src/protocol/index.ts'
import { requireReceivable, rowsOfChunks } from '../../src/replication/index.ts'
import type { Runtime } from '../../src/runtime/system-runtime.ts'
import { CommitListeners } from '../../src/store/commit-listeners.ts'
import { LocalJobs } from '../../src/store/jobs/local-jobs.ts'
import type {
  AppendedFrames,
  AppendRequest,
  EventStore,
  GivenChunk,
  ImportRequest,
  Reading,
  ReceiveOptions,
  Selection,
} from '../../src/store/port/index.ts'
import { LogReader, LogWriter } from '../../src/store/sqlite/index.ts'

/** The SQLite log without threads: it writes, reads and runs jobs in the calling thread. */
export class SingleThreadStore implements EventStore {
  readonly #writer: LogWriter
  readonly #reader: LogReader
  readonly #jobs: LocalJobs
  readonly #listeners = new CommitListeners()
  readonly #appended = new CommitListeners<[readonly AppendedFrames[]]>()
  #isClosed = false

  constructor(options: ConstructorParameters<typeof LogWriter>[0] & { readonly runtime: Runtime }) {
    const { runtime } = options
    this.#writer = new LogWriter(options)
    this.#reader = new LogReader(options.file, this.#writer.counts, options.key.publicKey, runtime.clock)
    this.#jobs = new LocalJobs(this.#reader, { jobs: queryJobs, runtime })
  }

  async append(request: AppendRequest) {
    const [appended] = this.#write((writer) => writer.append([request]))
    if (appended === undefined) throw new Error('a request has an answer')
    return appended
  }

  async import(request: ImportRequest) {
    return this.#write((writer) => writer.import(request))
  }

  async receive(chunk: Uint8Array, options?: ReceiveOptions) {
    return this.#write((writer) => writer.receive(chunk, options))
  }

  async receiveAll(chunks: readonly GivenChunk[], { from }: Pick<ReceiveOptions, 'from'> = {}) {
    requireReceivable(chunks)
    return this.#write((writer) => {
      const answers = writer.receiveAll(chunks, from)
      return { answers, rows: rowsOfChunks(chunks, (key) => writer.headOf(key)) }
    })
  }

  async prune(stream: number, count: number) {
    return this.#write((writer) => writer.prune(stream, count))
  }

  async applyPrune(record: Uint8Array, head?: Uint8Array, options?: ReceiveOptions) {
    return this.#write((writer) => writer.applyPrune(record, head, options))
  }

  async redact(stream: number, offsets: readonly number[]) {
    return this.#write((writer) => writer.redact(stream, offsets))
  }

  async applyRedaction(record: Uint8Array, options?: ReceiveOptions) {
    const [result] = await this.applyRedactions([record], options)
    if (result === undefined) throw new Error('a record has a result')
    return result
  }

  async applyRedactions(records: readonly Uint8Array[], options?: ReceiveOptions) {
    return this.#write((writer) => writer.applyRedactions(records, options))
  }

  async forgetStream(key: StreamKey) {
    return this.#write((writer) => writer.forgetStream(key))
  }

  async evidence(stream: number) {
    this.#open()
    return this.#writer.evidence(stream)
  }

  async applyEvidence(record: Uint8Array, options?: ReceiveOptions) {
    return this.#write((writer) => writer.applyEvidence(record, options))
  }

  async startMarks() {
    this.#open()
    return this.#writer.startMarks()
  }

  async markAnnounced() {
    this.#write((writer) => writer.markAnnounced())
  }

  async settleOwnStreams() {
    this.#write((writer) => writer.settleOwnStreams())
  }

  async clockRecord() {
    this.#open()
    return this.#writer.clockRecord()
  }

  async saveClockRecord(record: string) {
    this.#write((writer) => writer.saveClockRecord(record))
  }

  async streams() {
    return this.#open().status()
  }

  async head(stream: number) {
    this.#open()
    return this.#writer.head(stream)
  }

  async chunk(stream: number, from: number, maxBytes?: number) {
    return this.#open().chunk(stream, from, this.#writer.head(stream), maxBytes)
  }

  async chunks(stream: number, from: number, maxBytes: number) {
    return this.#open().serve((server) => server.chunks(stream, from, this.#writer.head(stream), maxBytes))
  }

  async hashAt(stream: number, count: number) {
    return this.#open().serve((server) => server.hashAt(stream, count))
  }

  async heads() {
    return this.#open().serve((server) => server.headTable(this.#writer.ownHeads()))
  }

  async headOf(key: StreamKey) {
    this.#open()
    return this.#writer.headOf(key)
  }

  async streamOf(key: StreamKey) {
    return this.#open().statusOf(key)
  }

  async contains(head: Uint8Array) {
    return this.#open().serve((server) => server.contains(head))
  }

  async records(stream: number, from?: number, to?: number) {
    this.#open()
    return this.#writer.records(stream, from, to)
  }

  async checkpointsAfter(stream: number, count: number, most: number) {
    return this.#open().checkpointsAfter(stream, count, most)
  }

  async checkpoints(stream: number) {
    return this.#open().checkpoints(stream)
  }

  async chunkSizes(stream: number) {
    return this.#open().chunkSizes(stream)
  }

  async newestTime(stream: number, from: number, to: number) {
    return this.#open().newestTime(stream, from, to)
  }

  async redactedOffsets(stream: number, from: number, to: number) {
    return this.#open().redactedOffsets(stream, from, to)
  }

  async framesOfChunk(stream: number, from: number) {
    return this.#open().framesOfChunk(stream, from)
  }

  onCommit(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  onAppended(listener: (appended: readonly AppendedFrames[]) => void): () => void {
    const remove = this.#appended.add(listener)
    if (this.#appended.size === 1) this.#writer.collectFrames(() => 0)
    return () => {
      remove()
      if (this.#appended.size === 0) this.#writer.collectFrames(undefined)
    }
  }

  read(selection: Selection): Reading {
    return this.start('read', selection)
  }

  start(job: string, request: unknown): Reading {
    return this.#jobs.start(job, request)
  }

  /** Seals everything that can be sealed. */
  settle(): void {
    this.#write((writer) => writer.sealAll())
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#jobs.close(new Error('the store is closed'))
    this.#reader.close()
    this.#writer.close()
  }

  #open(): LogReader {
    if (this.#isClosed) throw new Error('the store is closed')
    return this.#reader
  }

  #write<T>(work: (writer: LogWriter) => T): T {
    this.#open()
    const result = work(this.#writer)
    if (this.#writer.takeWakeups().length > 0) {
      this.#jobs.wake()
      this.#listeners.notify()
    }
    const appended = this.#writer.takeAppended()
    if (appended.length > 0) this.#appended.notify(appended)
    return result
  }
}
