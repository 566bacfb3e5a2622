import { limits } from '../../limits.ts'
import {
  ByteReader,
  type Chunk,
  type Frame,
  hashAfter,
  MalformedBytes,
  readChunk,
  readFrame,
  type StreamKey,
  withoutPayload,
} from '../../protocol/index.ts'
import { ChainEnd } from './chain-end.ts'
import type { LogState } from './log-state.ts'
import { redactedBetween } from './redactions.ts'
import type { Received } from './requests.ts'
import { rowKey } from './row-key.ts'
import type { StreamState } from './stream-state.ts'
import { tailRow } from './tail-row.ts'

const microsPerDay = 86_400e6

/** Whether a lamport timestamp is too far ahead: a clock that follows it would pull every other clock with it, for good. */
export function isTooFarAhead(lamport: number, now: number): boolean {
  return lamport > Math.min(Number.MAX_SAFE_INTEGER - 1, now + microsPerDay)
}

/** Stores chunks of other nodes: only what leads to a head that the stream's own node has signed. */
export class Receiver {
  readonly #log: LogState

  constructor(log: LogState) {
    this.#log = log
  }

  /** Verifies a chunk and stores it, with those that waited for it, in one transaction. */
  receive(bytes: Uint8Array): Received {
    const chunk = readChunk(bytes)
    const { head } = chunk
    if (head.topic !== this.#log.options.topic) throw new MalformedBytes('a chunk of another topic')
    const state = this.#log.stream(head.stream)
    const count = state?.count ?? 0
    if (state?.own === true || this.#isOwn(head.stream)) throw new MalformedBytes('a chunk of a stream of this node')
    if (head.count <= count) return { state: 'known', count }
    if (isTooFarAhead(head.lamport, this.#log.options.now())) return { state: 'early', count }
    return this.#log.transaction(() => this.#store(chunk, bytes))
  }

  #isOwn({ node }: StreamKey): boolean {
    return Buffer.compare(node, this.#log.options.key.publicKey) === 0
  }

  #store(chunk: Chunk, bytes: Uint8Array): Received {
    const state = this.#log.stream(chunk.head.stream) ?? this.#log.addStream(chunk.head.stream)
    if (chunk.first > state.count) return this.#wait(state, chunk, bytes)
    this.#append(state, chunk)
    this.appendWaiting(state)
    return { state: 'stored', count: state.count }
  }

  /** Stores the chunks that waited for what has come now, within the running transaction. */
  appendWaiting(state: StreamState): void {
    for (let next = this.#waiting(state); next !== undefined; next = this.#waiting(state))
      this.#appendWaiting(state, next)
  }

  /** A chunk could not be checked before those in front of it had come; one that turns out to be bad is dropped alone. */
  #appendWaiting(state: StreamState, chunk: Chunk): void {
    attempt(() => this.#append(state, chunk))
  }

  /**
   * Keeps a chunk that came too early. Nothing of it can be read, and only so many are kept. One with a payload that is
   * to be removed has to come again.
   */
  #wait(state: StreamState, chunk: Chunk, bytes: Uint8Array): Received {
    const { database } = this.#log
    const kept = database
      .prepare('SELECT count(*) AS count FROM waiting WHERE key >= ? AND key < ?')
      .get(rowKey(state.number, 0), rowKey(state.number + 1, 0))
    if (!this.#hasRedacted(state, chunk) && Number(kept?.['count']) < limits.waitingChunks)
      database
        .prepare('INSERT OR IGNORE INTO waiting (key, chunk) VALUES (?, ?)')
        .run(rowKey(state.number, chunk.first), bytes)
    return { state: 'waiting', count: state.count }
  }

  /** Whether a payload that was told to be removed is still in a chunk. */
  #hasRedacted(state: StreamState, { frames, first, head }: Chunk): boolean {
    return redactedBetween(this.#log.database, state.number, first, head.count).some((offset) => {
      const frame = frames.find((frame) => offset < frame.first + frame.count) as Frame
      return (frame.payloads[2 * (offset - frame.first)] as number) >= 0
    })
  }

  /** The chunk that continues the stream, of those that wait. */
  #waiting(state: StreamState): Chunk | undefined {
    const { database } = this.#log
    const upTo = rowKey(state.number, state.count)
    const rows = database
      .prepare('SELECT key, chunk FROM waiting WHERE key >= ? AND key <= ? ORDER BY key DESC')
      .all(rowKey(state.number, 0), upTo)
    const chunks = rows.map((row) => attempt(() => readChunk(bytesOf(row['chunk']))))
    const found = chunks.find((chunk) => chunk !== undefined && chunk.head.count > state.count)
    database.prepare('DELETE FROM waiting WHERE key >= ? AND key <= ?').run(rowKey(state.number, 0), upTo)
    return found
  }

  /** Adds what a chunk has more than the stream. Whatever is wrong with it is found before anything changes. */
  #append(state: StreamState, chunk: Chunk): void {
    const frames = chunk.frames.filter(({ first, count }) => first + count > state.count)
    const events = chunk.head.count - state.count
    if (frames[0]?.first !== state.count) throw new MalformedBytes('a chunk is framed in another way than what is here')
    if ((frames[0].lamports[0] as number) <= state.lamport)
      throw new MalformedBytes('the lamport timestamps do not rise')
    if (state.eventsSince + events > limits.eventsPerChunk) throw new MalformedBytes('a stream has too few checkpoints')
    let { hash } = state.chain
    for (const frame of frames) hash = hashAfter(frame, hash)
    if (hash !== chunk.head.hash) throw new MalformedBytes('the frames do not lead to the signed head')
    const records = Buffer.concat(frames.map((frame) => this.#redacted(state, frame)))
    const point = { is: 'after', hash } as const
    this.#log.insertTail(tailRow(rowKey(state.number, state.count), events, chunk.head.lamport, point, records))
    this.#log.changed.add(state)
    state.count += events
    state.lamport = chunk.head.lamport
    state.chain = new ChainEnd(hash)
    state.eventsSince += events
    state.bytesSince += records.length
    if (chunk.head.checkpoint) this.#log.insertCheckpoint(state, chunk.signedHead)
    this.#log.saveHead(state, chunk.signedHead)
    this.#log.clock = Math.max(this.#log.clock, state.lamport + 1)
  }

  /** The record of a frame, without the payloads that were told to be removed before they came. */
  #redacted(state: StreamState, frame: Frame): Uint8Array {
    const { first, count } = frame
    let current = frame
    for (const offset of redactedBetween(this.#log.database, state.number, first, first + count))
      current = readFrame(new ByteReader(withoutPayload(current, offset - first)))
    return current === frame ? frame.bytes.subarray(...frame.record) : current.bytes
  }
}

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new MalformedBytes('these are no bytes')
}

/**
 * The result of work on bytes that may be malformed; nothing when they are. No failure of this node: another one has sent
 * them, and what is missing is asked for again.
 */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof MalformedBytes) return undefined
    throw error
  }
}
