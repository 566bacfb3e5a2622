import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../assert.ts'
import type { PublicKey } from '../../identity/index.ts'
import { limits } from '../../limits.ts'
import { LogCursor, LogReader, NdjsonWriter, type Selection, SharedCounts } from '../log/index.ts'
import { type ErrorMessage, open, toMessage } from './messages.ts'

export interface ReaderData {
  readonly file: string
  readonly own: Uint8Array
  readonly counts: SharedArrayBuffer
  readonly gate: SharedArrayBuffer
}

export type ToReader =
  | { readonly type: 'read'; readonly id: number; readonly selection: Selection }
  /** One piece was taken: another one may follow. */
  | { readonly type: 'credit'; readonly id: number }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'streams' | 'close'; readonly id: number }
  | { readonly type: 'checkpoints'; readonly id: number; readonly stream: number }
  | {
      readonly type: 'chunk'
      readonly id: number
      readonly stream: number
      readonly from: number
      readonly newest: Uint8Array | undefined
    }

export type FromReader =
  | { readonly id: number; readonly piece: Uint8Array }
  | { readonly id: number; readonly result: unknown }
  /** A piece of the index is damaged. */
  | { readonly id: number; readonly damagedIndex: readonly [stream: number, offset: number] }
  | { readonly id: number; readonly error: ErrorMessage }

interface Query {
  readonly id: number
  readonly cursor: LogCursor
  readonly lines: NdjsonWriter
  credit: number
}

/** Runs queries in slices, one after the other in turn, each only as far ahead of its reader as its credit goes. */
class ReaderThread {
  readonly #port: MessagePort
  readonly #reader: LogReader
  readonly #queries = new Map<number, Query>()
  #running = false

  constructor(port: MessagePort, { file, own, counts }: ReaderData) {
    this.#port = port
    this.#reader = new LogReader(file, new SharedCounts(counts), own as PublicKey)
    this.#reader.onDamagedIndex = (stream, offset) => this.#post({ id: -1, damagedIndex: [stream, offset] })
    port.on('message', (message: ToReader) => this.#receive(message))
  }

  #receive(message: ToReader): void {
    try {
      if (message.type === 'read') this.#start(message.id, message.selection)
      else if (message.type === 'credit') this.#credit(message.id)
      else if (message.type === 'cancel') this.#queries.delete(message.id)
      else this.#post({ id: message.id, result: this.#call(message) })
    } catch (error) {
      this.#post({ id: message.id, error: toMessage(error) })
    }
  }

  #call(message: Extract<ToReader, { type: 'streams' | 'close' | 'checkpoints' | 'chunk' }>): unknown {
    switch (message.type) {
      case 'streams':
        return this.#reader.status()
      case 'checkpoints':
        return this.#reader.checkpoints(message.stream)
      case 'chunk':
        return this.#reader.chunk(message.stream, message.from, message.newest)
      case 'close':
        this.#reader.close()
        // After the answer, which would not get through any more.
        setImmediate(() => this.#port.close())
        return undefined
    }
  }

  #start(id: number, selection: Selection): void {
    const query = {
      id,
      cursor: new LogCursor(this.#reader, selection),
      lines: new NdjsonWriter(limits.pieceBytes),
      credit: limits.piecesAhead,
    }
    this.#queries.set(id, query)
    this.#run()
  }

  #credit(id: number): void {
    const query = this.#queries.get(id)
    if (query === undefined) return
    query.credit++
    this.#run()
  }

  #run(): void {
    if (this.#running) return
    this.#running = true
    setImmediate(() => this.#round())
  }

  /** One slice for each query that may go on. */
  #round(): void {
    this.#running = false
    for (const query of [...this.#queries.values()]) if (query.credit > 0) this.#slice(query)
    if ([...this.#queries.values()].some(({ credit }) => credit > 0)) this.#run()
  }

  #slice(query: Query): void {
    const { id, cursor, lines } = query
    try {
      const done = cursor.run(lines, performance.now() + limits.sliceMs)
      if (lines.written.length > 0) {
        const piece = Uint8Array.prototype.slice.call(lines.written)
        lines.clear()
        query.credit--
        this.#port.postMessage({ id, piece } satisfies FromReader, [piece.buffer])
      }
      if (!done) return
      this.#queries.delete(id)
      this.#post({ id, result: undefined })
    } catch (error) {
      this.#queries.delete(id)
      this.#post({ id, error: toMessage(error) })
    }
  }

  #post(message: FromReader): void {
    this.#port.postMessage(message)
  }
}

const port = parentPort
assert(port !== null, 'a reader runs in a thread of its own')
const data = workerData as ReaderData
open(port, () => new ReaderThread(port, data), data.gate)
