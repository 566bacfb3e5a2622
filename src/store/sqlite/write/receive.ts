import { type Chunk, MalformedBytes } from '../../../protocol/index.ts'
import {
  type Addition,
  admitChunk,
  admitWaiting,
  isAhead,
  mayWait,
  type Received,
  type ReceivingStream,
  readChunk,
  skipReason,
  unlessMalformed,
} from '../../../replication/index.ts'
import { offsetOf, rowKey } from '../rows/row-key.ts'
import type { StreamState } from '../rows/stream-state.ts'
import { recordsOfFrames, tailRow } from '../rows/tail-row.ts'
import type { LogState } from './log-state.ts'
import { redactedBetween } from './redactions.ts'

/** Stores the chunks of other nodes that the rules of replication admit. */
export class Receiver {
  readonly #log: LogState

  constructor(log: LogState) {
    this.#log = log
  }

  /** Verifies a chunk and stores it in one transaction, together with the chunks that waited for it. */
  receive(bytes: Uint8Array): Received {
    const chunk = readChunk(bytes)
    const known = this.#log.stream(chunk.head.stream)
    const refusal = skipReason(chunk, known, this.#log.options)
    if (refusal !== undefined) return { state: refusal, count: known?.count ?? 0 }
    return this.#log.transaction(() => this.#store(chunk, bytes))
  }

  #store(chunk: Chunk, bytes: Uint8Array): Received {
    // Looked up again: beginning the transaction may have reloaded all streams.
    const state = this.#log.stream(chunk.head.stream) ?? this.#log.addStream(chunk.head.stream)
    if (isAhead(chunk, state)) {
      this.#keepWaiting(state, chunk, bytes)
      return { state: 'waiting', count: state.count }
    }
    for (const addition of admitChunk(chunk, this.#receiving(state))) this.#append(state, addition)
    return { state: 'stored', count: state.count }
  }

  /** Stores the waiting chunks that continue a stream now, within the current transaction. */
  appendWaiting(state: StreamState): void {
    for (const addition of admitWaiting(this.#receiving(state))) this.#append(state, addition)
  }

  #receiving(state: StreamState): ReceivingStream {
    return {
      position: state,
      clock: this.#log.clock,
      redactedBetween: (from, to) => redactedBetween(this.#log.database, state.number, from, to),
      takeWaiting: (upTo) => this.#takeWaiting(state, upTo),
    }
  }

  #keepWaiting(state: StreamState, chunk: Chunk, bytes: Uint8Array): void {
    const { database } = this.#log
    const waiting = database
      .prepare('SELECT key FROM waiting WHERE key >= ? AND key < ?')
      .all(rowKey(state.number, 0), rowKey(state.number + 1, 0))
      .map(({ key }) => offsetOf(Number(key)))
    const redacted = redactedBetween(database, state.number, chunk.first, chunk.head.count)
    if (!mayWait(chunk, waiting, redacted)) return
    database.prepare('INSERT INTO waiting (key, chunk) VALUES (?, ?)').run(rowKey(state.number, chunk.first), bytes)
  }

  /** These rows have no checksum: a damaged one is dropped like an invalid chunk, and is sent again. */
  #takeWaiting({ number }: StreamState, upTo: number): Chunk[] {
    const { database } = this.#log
    const bounds = [rowKey(number, 0), rowKey(number, upTo)] as const
    const rows = database.prepare('SELECT chunk FROM waiting WHERE key >= ? AND key <= ?').all(...bounds)
    if (rows.length > 0) database.prepare('DELETE FROM waiting WHERE key >= ? AND key <= ?').run(...bounds)
    return rows
      .map(({ chunk }) => unlessMalformed(() => readChunk(bytesOf(chunk))))
      .filter((chunk) => chunk !== undefined)
  }

  #append(state: StreamState, { first, count, lamport, chain, frames, head, signedHead }: Addition): void {
    const point = { is: 'after', hash: chain.hash } as const
    this.#log.insertTail(tailRow(rowKey(state.number, first), count, lamport, point, recordsOfFrames(frames)))
    this.#log.changed.add(state)
    if (head.checkpoint) this.#log.insertCheckpoint(state, signedHead)
    this.#log.saveHead(state, signedHead)
  }
}

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new MalformedBytes('these are no bytes')
}
