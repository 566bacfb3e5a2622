import { type Frame, type Hash, heads } from '../../src/protocol/index.ts'
import {
  applyAddition,
  decideChunk,
  endChunk,
  evidenceOfReached,
  LamportClock,
  type Plan,
  planWaiting,
  type Received,
  type ReceivingStream,
  type ReceivingStreams,
  type StreamPosition,
  startAtCheckpoint,
  startOfStream,
  type TopicContext,
  type WaitingChunk,
  type WaitingRoom,
} from '../../src/replication/index.ts'
import type { WrittenStream } from './written-stream.ts'

/** A store without streams, and with room for any. */
export const noStreams: ReceivingStreams = { find: () => undefined, limitOf: () => undefined }

/** An in-memory receiver of one stream: applies the replication rules and keeps their results in arrays. */
export class PlainReceiver implements ReceivingStream {
  readonly position: StreamPosition
  readonly genesis: Hash
  /** The signed heads of the checkpoints, and the newest one. */
  readonly checkpoints = new Map<number, Uint8Array>()
  newest: Uint8Array | undefined
  evidence: Uint8Array | undefined
  readonly clock = new LamportClock()
  readonly stored: Frame[] = []
  readonly redacted: number[] = []
  waiting: WaitingChunk[] = []
  readonly #context: TopicContext

  constructor({ stream }: WrittenStream, context: TopicContext) {
    this.position = startOfStream('t', context.kind, stream, false)
    this.genesis = this.position.chain.hash
    this.#context = context
  }

  receive(bytes: Uint8Array, before?: Uint8Array): Received['state'] {
    const decision = decideChunk(bytes, { before }, { find: () => this, limitOf: () => undefined }, this.#context)
    switch (decision.is) {
      case 'answer':
        return decision.answer.state
      case 'wait':
        this.waiting.push(decision.waiting)
        return 'waiting'
      case 'fork':
        this.evidence = decision.evidence
        return 'forked'
      case 'store':
        this.#keep(decision)
        return this.isFrozen ? 'forked' : 'stored'
    }
  }

  get isFrozen(): boolean {
    return this.evidence !== undefined
  }

  checkpointUpTo(count: number): Uint8Array | undefined {
    return [...this.checkpoints].findLast(([end]) => end <= count)?.[1]
  }

  headFrom(count: number): Uint8Array | undefined {
    return [...this.checkpoints].find(([end]) => end >= count)?.[1] ?? this.newest
  }

  frames(from: number, to: number): Frame[] {
    return this.stored.filter(({ first }) => first >= from && first < to)
  }

  /** Starts at the checkpoint head of a prune record. */
  start(signedHead: Uint8Array): void {
    const head = heads.decode(signedHead)
    startAtCheckpoint(this.position, head)
    this.position.pruned = head.count
    endChunk(this.position)
    this.checkpoints.set(head.count, signedHead)
    this.newest = signedHead
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

  #keep({ additions, reached }: Plan): void {
    for (const addition of additions) {
      applyAddition(addition, this.position, this.clock)
      this.stored.push(...addition.frames)
      this.newest = addition.signedHead
      if (!addition.head.checkpoint) continue
      this.checkpoints.set(addition.head.count, addition.signedHead)
      endChunk(this.position)
    }
    this.waiting = this.waiting.filter(({ chunk }) => chunk.first > this.position.count)
    this.evidence ??= evidenceOfReached(reached, this)
  }
}
