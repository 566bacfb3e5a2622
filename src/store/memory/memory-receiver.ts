import { MalformedBytes } from '../../protocol/index.ts'
import {
  type AppliedEvidence,
  applyAddition,
  decideChunk,
  evidenceOfReached,
  type ForkEvidence,
  frozenCount,
  type GivenChunk,
  type MalformedChunk,
  type Plan,
  planWaiting,
  type Received,
  type ReceiveOptions,
  type ReceivingStream,
  type ReceivingStreams,
  verifyEvidence,
} from '../../replication/index.ts'
import type { MemoryStream } from './memory-stream.ts'
import type { MemoryStreams } from './memory-streams.ts'

/** Stores chunks of other nodes, and freezes streams whose node has forked them. */
export class MemoryReceiver {
  readonly #streams: MemoryStreams
  readonly #known: ReceivingStreams

  constructor(streams: MemoryStreams) {
    this.#streams = streams
    this.#known = {
      find: (key) => {
        const stream = streams.find(key)
        return stream && this.#receiving(stream)
      },
      limitOf: (key, from) => streams.limitOf(key, from),
    }
  }

  receive(given: Uint8Array, { before, from }: ReceiveOptions): Received {
    // Copied, because frames and heads are kept as subarrays, and the caller may reuse its memory.
    const bytes = Buffer.from(given)
    const { receiveContext: context } = this.#streams
    const decision = decideChunk(bytes, { before: before && Buffer.from(before), from }, this.#known, context)
    if (decision.is === 'answer') return decision.answer
    const { stream: key } = decision.chunk.head
    const stream = this.#streams.find(key) ?? this.#streams.create(key, from)
    this.#streams.keep(stream, from)
    if (decision.is === 'store') this.#apply(stream, decision)
    else if (decision.is === 'wait') stream.keepWaiting(decision.waiting, bytes)
    else this.#freeze(stream, verifyEvidence(decision.evidence, context), decision.evidence)
    const { count } = stream.position
    if (stream.fork !== undefined) return { state: 'forked', count }
    return { state: decision.is === 'wait' ? 'waiting' : 'stored', count }
  }

  /** The same, without throwing for a chunk that breaks a rule. */
  receiveGiven({ bytes, before }: GivenChunk, from: string | undefined): Received | MalformedChunk {
    try {
      return this.receive(bytes, { before, from })
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      return { state: 'malformed', reason: error.message }
    }
  }

  applyEvidence(record: Uint8Array, { from }: ReceiveOptions): AppliedEvidence {
    const evidence = verifyEvidence(record, this.#streams.context)
    // A stream without events is frozen as well: otherwise they would be accepted from the next peer.
    const stream = this.#streams.find(evidence.stream) ?? this.#streams.create(evidence.stream, from)
    if (stream.fork !== undefined) return { state: 'known' }
    this.#streams.keep(stream, from)
    this.#freeze(stream, evidence, record)
    return { state: 'applied' }
  }

  /** Stores the waiting chunks that continue a stream now. */
  appendWaiting(stream: MemoryStream): void {
    this.#apply(stream, planWaiting(this.#receiving(stream)))
  }

  #receiving(stream: MemoryStream): ReceivingStream {
    return stream.receiving(this.#streams.all, this.#streams.storedChain(stream))
  }

  /** Stores planned additions, and drops the waiting chunks that are reached. */
  #apply(stream: MemoryStream, { additions, reached }: Plan): void {
    for (const addition of additions) {
      const { frames, head, signedHead } = addition
      applyAddition(addition, stream.position, this.#streams.clock)
      stream.keep(frames)
      if (head.checkpoint) stream.addCheckpoint(signedHead)
      stream.receivedHead = signedHead
    }
    stream.dropReached()
    const evidence = evidenceOfReached(reached, this.#streams.storedChain(stream))
    if (evidence !== undefined) this.#freeze(stream, verifyEvidence(evidence, this.#streams.context), evidence)
  }

  #freeze(stream: MemoryStream, evidence: ForkEvidence, record: Uint8Array): void {
    const frozen = frozenCount(evidence, this.#streams.storedChain(stream))
    // Copied, because the caller may reuse its memory.
    stream.fork = { record: Uint8Array.from(record), frozen }
    stream.dropWaiting()
  }
}
