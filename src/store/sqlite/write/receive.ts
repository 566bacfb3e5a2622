import { type Chunk, MalformedBytes, type StreamKey } from '../../../protocol/index.ts'
import {
  type Addition,
  applyAddition,
  isAhead,
  mayWait,
  planChunk,
  planWaiting,
  type Received,
  type ReceivingStream,
  readChunk,
  requireRoomForStream,
  skipReason,
  startOfStream,
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

  /**
   * Verifies a chunk and stores it in one transaction, together with the chunks that waited for it. Everything is decided
   * before the transaction: rolling one back reloads all streams, and outdates the seal that is being built.
   */
  receive(bytes: Uint8Array): Received {
    const chunk = readChunk(bytes)
    this.#log.reopenIfBroken()
    const known = this.#log.stream(chunk.head.stream)
    const count = known?.count ?? 0
    const refusal = skipReason(chunk, known, this.#log.options)
    if (refusal !== undefined) return { state: refusal, count }
    if (known === undefined) requireRoomForStream([...this.#log.streams].length)
    const stream = this.#receiving(known, chunk.head.stream)
    if (isAhead(chunk, stream.position)) {
      const keeps = mayWait(chunk, this.#waitingOffsets(known), stream.redactedBetween(chunk.first, chunk.head.count))
      if (keeps) this.#log.transaction(() => this.#keepWaiting(this.#known(chunk.head.stream), chunk, bytes))
      return { state: 'waiting', count }
    }
    const additions = planChunk(chunk, stream)
    return this.#log.transaction(() => {
      const state = this.#known(chunk.head.stream)
      this.#apply(state, additions)
      return { state: 'stored', count: state.count }
    })
  }

  /** Stores the waiting chunks that continue a stream now, within the current transaction. */
  appendWaiting(state: StreamState): void {
    this.#apply(state, planWaiting(this.#receiving(state, state.key)))
  }

  /** A stream; a new one is created within the current transaction. */
  #known(key: StreamKey): StreamState {
    return this.#log.stream(key) ?? this.#log.addStream(key)
  }

  #receiving(state: StreamState | undefined, key: StreamKey): ReceivingStream {
    const { database, options } = this.#log
    return {
      position: state ?? startOfStream(options.topic, options.kind, key, false),
      redactedBetween: (from, to) => (state === undefined ? [] : redactedBetween(database, state.number, from, to)),
      waitingUpTo: (offset) => (state === undefined ? [] : this.#waitingUpTo(state, offset)),
    }
  }

  #waitingOffsets(state: StreamState | undefined): number[] {
    if (state === undefined) return []
    return this.#log.database
      .prepare('SELECT key FROM waiting WHERE key >= ? AND key < ?')
      .all(rowKey(state.number, 0), rowKey(state.number + 1, 0))
      .map(({ key }) => offsetOf(Number(key)))
  }

  #keepWaiting(state: StreamState, chunk: Chunk, bytes: Uint8Array): void {
    this.#log.database
      .prepare('INSERT INTO waiting (key, chunk) VALUES (?, ?)')
      .run(rowKey(state.number, chunk.first), bytes)
  }

  /** These rows have no checksum: a damaged one is skipped like an invalid chunk, and is sent again. */
  #waitingUpTo({ number }: StreamState, offset: number): Chunk[] {
    return this.#log.database
      .prepare('SELECT chunk FROM waiting WHERE key >= ? AND key <= ?')
      .all(rowKey(number, 0), rowKey(number, offset))
      .map(({ chunk }) => unlessMalformed(() => readChunk(bytesOf(chunk))))
      .filter((chunk) => chunk !== undefined)
  }

  /** Stores planned additions, and drops the waiting chunks that are reached, within the current transaction. */
  #apply(state: StreamState, additions: readonly Addition[]): void {
    for (const addition of additions) this.#append(state, addition)
    this.#log.database
      .prepare('DELETE FROM waiting WHERE key >= ? AND key <= ?')
      .run(rowKey(state.number, 0), rowKey(state.number, state.count))
  }

  #append(state: StreamState, addition: Addition): void {
    const { first, count, lamport, chain, frames, head, signedHead } = addition
    applyAddition(addition, state, this.#log.clock)
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
