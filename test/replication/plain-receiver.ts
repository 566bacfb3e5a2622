import type { Frame, Head } from '../../src/protocol/index.ts'
import {
  type Addition,
  applyAddition,
  decideChunk,
  endChunk,
  LamportClock,
  planWaiting,
  type Received,
  type ReceivingStream,
  type StreamPosition,
  startAtCheckpoint,
  startOfStream,
  type TopicContext,
  type WaitingChunk,
  type WaitingRoom,
} from '../../src/replication/index.ts'
import type { WrittenStream } from './written-stream.ts'

/** An in-memory receiver of one stream: applies the replication rules and keeps their results in arrays. */
export class PlainReceiver implements ReceivingStream {
  readonly position: StreamPosition
  readonly clock = new LamportClock()
  readonly frames: Frame[] = []
  readonly redacted: number[] = []
  waiting: WaitingChunk[] = []
  readonly #context: TopicContext

  constructor({ stream }: WrittenStream, context: TopicContext) {
    this.position = startOfStream('t', context.kind, stream, false)
    this.#context = context
  }

  receive(bytes: Uint8Array, before?: Uint8Array): Received['state'] {
    const decision = decideChunk(bytes, { before }, () => this, this.#context)
    if (decision.is === 'answer') return decision.answer.state
    if (decision.is === 'store') this.#keep(decision.additions)
    else this.waiting.push(decision.waiting)
    return decision.is === 'store' ? 'stored' : 'waiting'
  }

  /** Starts at the checkpoint head of a prune record. */
  start(head: Head): void {
    startAtCheckpoint(this.position, head)
    endChunk(this.position)
    this.#keep(planWaiting(this))
  }

  redactedBetween(from: number, to: number): number[] {
    return this.redacted.filter((offset) => offset >= from && offset < to)
  }

  waitingUpTo(offset: number): WaitingChunk[] {
    return this.waiting.filter(({ chunk }) => chunk.first <= offset)
  }

  waitingRoom(): WaitingRoom {
    const usage = { chunks: this.waiting.length, bytes: 0 }
    return { stream: usage, all: usage, at: (first) => this.waiting.find(({ chunk }) => chunk.first === first) }
  }

  #keep(additions: Iterable<Addition>): void {
    for (const addition of additions) {
      applyAddition(addition, this.position, this.clock)
      this.frames.push(...addition.frames)
      if (addition.head.checkpoint) endChunk(this.position)
    }
    this.waiting = this.waiting.filter(({ chunk }) => chunk.first > this.position.count)
  }
}
