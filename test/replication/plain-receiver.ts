import type { Chunk, Frame } from '../../src/protocol/index.ts'
import {
  type Addition,
  admitChunk,
  admitWaiting,
  endChunk,
  isAhead,
  LamportClock,
  mayWait,
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
      this.#keep(admitChunk(chunk, this))
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
    this.#keep(admitWaiting(this))
  }

  redactedBetween(from: number, to: number): number[] {
    return this.redacted.filter((offset) => offset >= from && offset < to)
  }

  takeWaiting(upTo: number): Chunk[] {
    const reached = this.waiting.filter(({ first }) => first <= upTo)
    this.waiting = this.waiting.filter(({ first }) => first > upTo)
    return reached
  }

  #keep(additions: Iterable<Addition>): void {
    for (const { frames, head } of additions) {
      this.frames.push(...frames)
      if (head.checkpoint) endChunk(this.position)
    }
  }
}
