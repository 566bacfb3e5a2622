import type { Chunk, Frame } from '../../src/protocol/index.ts'
import {
  type Addition,
  applyAddition,
  endChunk,
  isAhead,
  LamportClock,
  mayWait,
  planChunk,
  planWaiting,
  type Received,
  type ReceivingStream,
  readChunk,
  type StreamPosition,
  skipReason,
  startAtCheckpoint,
  startOfStream,
  type TopicContext,
} from '../../src/replication/index.ts'
import type { WrittenStream } from './written-stream.ts'

/** An in-memory receiver of one stream: applies the replication rules and keeps their results in arrays. */
export class PlainReceiver implements ReceivingStream {
  readonly position: StreamPosition
  readonly clock = new LamportClock()
  readonly frames: Frame[] = []
  readonly redacted: number[] = []
  waiting: Chunk[] = []
  readonly #context: TopicContext

  constructor({ stream }: WrittenStream, context: TopicContext) {
    this.position = startOfStream('t', context.kind, stream, false)
    this.#context = context
  }

  receive(bytes: Uint8Array): Received['state'] {
    const chunk = readChunk(bytes)
    const refusal = skipReason(chunk, this.position, this.#context)
    if (refusal !== undefined) return refusal
    if (!isAhead(chunk, this.position)) {
      this.#keep(planChunk(chunk, this))
      return 'stored'
    }
    const offsets = this.waiting.map(({ first }) => first)
    if (mayWait(chunk, offsets, this.redactedBetween(chunk.first, chunk.head.count))) this.waiting.push(chunk)
    return 'waiting'
  }

  /** Starts at the checkpoint head of a prune record. */
  start(signedHead: Chunk['head']): void {
    startAtCheckpoint(this.position, signedHead)
    endChunk(this.position)
    this.#keep(planWaiting(this))
  }

  redactedBetween(from: number, to: number): number[] {
    return this.redacted.filter((offset) => offset >= from && offset < to)
  }

  waitingUpTo(offset: number): Chunk[] {
    return this.waiting.filter(({ first }) => first <= offset)
  }

  #keep(additions: Iterable<Addition>): void {
    for (const addition of additions) {
      applyAddition(addition, this.position, this.clock)
      this.frames.push(...addition.frames)
      if (addition.head.checkpoint) endChunk(this.position)
    }
    this.waiting = this.waiting.filter(({ first }) => first > this.position.count)
  }
}
