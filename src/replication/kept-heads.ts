import { type Hash, heads, type StreamKey } from '../protocol/index.ts'
import { newestHead } from './stream-heads.ts'
import type { StreamPosition } from './stream-position.ts'
import type { TopicContext } from './streams.ts'

interface KeptHead {
  readonly hash: Hash
  readonly checkpoint: boolean
  readonly head: Uint8Array | undefined
}

/**
 * Signs the newest heads of own streams, once per change, and keeps them. A position that was loaded again, after a
 * failed commit, is another one: what was signed for the old one is forgotten with it.
 */
export class KeptHeads {
  readonly #kept = new WeakMap<StreamPosition, KeptHead>()

  /** The newest head of a stream, see `newestHead`. The position must not be ahead of the disk. */
  newest(
    position: StreamPosition,
    context: TopicContext,
    received: () => Uint8Array | undefined,
  ): Uint8Array | undefined {
    if (!position.own) return newestHead(position, context, received)
    const { hash } = position.chain
    const checkpoint = position.count === position.checkpoint
    const kept = this.#kept.get(position)
    if (kept?.hash === hash && kept.checkpoint === checkpoint) return kept.head
    const signed = newestHead(position, context, received)
    // A copy with memory of its own: threads pass on the whole memory of a view.
    const head = signed && Uint8Array.from(signed)
    this.#kept.set(position, { hash, checkpoint, head })
    return head
  }
}

/** The newest head of a stream and what it says, as a row of the head table. */
export interface StreamHead {
  readonly number: number
  readonly key: StreamKey
  readonly own: boolean
  /** Number of pruned events, from the start. */
  readonly pruned: number
  readonly count: number
  /** The lamport timestamp of the last event. */
  readonly lamport: number
  /** The chain hash after the last event. */
  readonly hash: Hash
  /** The signed head itself. */
  readonly head: Uint8Array
}

/** The row of a stream in the head table, from its newest signed head. */
export function headRow(stream: Pick<StreamHead, 'number' | 'own' | 'pruned'>, signed: Uint8Array): StreamHead {
  const { number, own, pruned } = stream
  const { stream: key, count, lamport, hash } = heads.decodeStored(signed)
  return { number, key, own, pruned, count, lamport, hash, head: signed }
}
