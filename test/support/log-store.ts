import type { Received } from '../../src/replication/index.ts'
import type { EventStore, Reading, StreamStatus } from '../../src/store/event-store.ts'
import {
  type Appended,
  type AppendRequest,
  type ChunkSize,
  LogCursor,
  LogReader,
  LogWriter,
  NdjsonWriter,
  type NewestTime,
  type Selection,
} from '../../src/store/sqlite/index.ts'

/** The SQLite store without threads: every call does its work at once, so that a run from a seed always goes the same way. */
export class LogStore implements EventStore {
  readonly #writer: LogWriter
  readonly #reader: LogReader

  constructor(options: ConstructorParameters<typeof LogWriter>[0]) {
    this.#writer = new LogWriter(options)
    this.#reader = new LogReader(options.file, this.#writer.counts, options.key.publicKey)
  }

  /** Seals everything that can be sealed. */
  seal(): void {
    this.#writer.sealAll()
  }

  expect(): void {}

  async append(request: AppendRequest): Promise<Appended> {
    const [appended] = this.#writer.append([request])
    return appended as Appended
  }

  async appendParts(first: AppendRequest, rest: Iterator<AppendRequest, AppendRequest>): Promise<Appended> {
    return this.#writer.appendParts(parts(first, rest))
  }

  async receive(chunk: Uint8Array): Promise<Received> {
    return this.#writer.receive(chunk)
  }

  async prune(stream: number, count: number): Promise<Uint8Array> {
    return this.#writer.prune(stream, count)
  }

  async applyPrune(record: Uint8Array, head?: Uint8Array): Promise<void> {
    this.#writer.applyPrune(record, head)
  }

  async redact(stream: number, offset: number): Promise<Uint8Array> {
    return this.#writer.redact(stream, offset)
  }

  async applyRedaction(record: Uint8Array): Promise<void> {
    this.#writer.applyRedaction(record)
  }

  async streams(): Promise<StreamStatus[]> {
    return this.#reader.status()
  }

  read(selection: Selection): Reading {
    return new LogReading(this.#reader, selection)
  }

  async head(stream: number): Promise<Uint8Array | undefined> {
    return this.#writer.head(stream)
  }

  async checkpoints(stream: number): Promise<{ count: number; head: Uint8Array }[]> {
    return this.#reader.checkpoints(stream)
  }

  async chunkSizes(stream: number): Promise<ChunkSize[]> {
    return this.#reader.chunkSizes(stream)
  }

  async newestTime(stream: number, from: number, to: number): Promise<NewestTime> {
    return this.#reader.newestTime(stream, from, to)
  }

  async chunk(stream: number, from: number): Promise<Uint8Array | undefined> {
    return this.#reader.chunk(stream, from, this.#writer.head(stream))
  }

  async close(): Promise<void> {
    this.#reader.close()
    this.#writer.close()
  }
}

function* parts(first: AppendRequest, rest: Iterator<AppendRequest, AppendRequest>): Generator<AppendRequest> {
  yield first
  for (let next = rest.next(); ; next = rest.next()) {
    yield next.value
    if (next.done === true) return
  }
}

class LogReading implements Reading {
  readonly started = Promise.resolve()
  readonly ended = Promise.resolve()
  readonly #cursor: LogCursor
  readonly #lines = new NdjsonWriter(64 * 1024)
  #isOver = false
  #failure: Error | undefined

  constructor(reader: LogReader, selection: Selection) {
    this.#cursor = new LogCursor(reader, selection)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    while (!this.#isOver) {
      if (this.#failure !== undefined) throw this.#failure
      this.#lines.clear()
      this.#isOver = this.#cursor.run(this.#lines, Number.POSITIVE_INFINITY)
      if (this.#lines.written.length > 0) yield Buffer.from(this.#lines.written)
    }
  }

  giveBack(): void {}

  cancel(): void {
    this.#isOver = true
  }

  fail(error: Error): void {
    this.#failure = error
  }
}
