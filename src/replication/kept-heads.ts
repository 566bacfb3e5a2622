import { type Hash, heads, type StreamKey } from '../protocol/index.ts'
import { recordsHash } from './records-hash.ts'
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

/** The newest signed head of an own stream. */
export interface OwnHead {
  readonly number: number
  readonly head: Uint8Array
}

/** A row of the head table: the newest head of a stream, what it says, and what was removed from the stream. */
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
  /** A hash of what its records have removed, see `recordsHash`. */
  readonly records: Hash
  /** Whether a fork of the stream is known. */
  readonly frozen: boolean
  /** The signed head itself. Undefined only if a fork was known before any event was stored. */
  readonly head: Uint8Array | undefined
}

/** What a store knows of a stream besides its head. */
export interface HeadContext extends Pick<StreamHead, 'number' | 'key' | 'own' | 'pruned' | 'frozen'> {
  readonly topic: string
  /** The redacted offsets, ascending; those beyond the head do not count. */
  readonly redacted: readonly number[]
}

/** The row of a stream in the head table, from its newest signed head. Undefined when there is nothing to compare. */
export function headRow(stream: HeadContext, signed: Uint8Array | undefined): StreamHead | undefined {
  const { number, key, own, pruned, frozen, topic, redacted } = stream
  if (signed === undefined && !frozen) return undefined
  const { count, lamport, hash } = signed === undefined ? noEvents : heads.decodeStored(signed)
  const ranges = redacted.map((first) => ({ first, count: 1 }))
  const records = recordsHash(topic, { key, pruned, count }, ranges)
  return { number, key, own, pruned, count, lamport, hash, records, frozen, head: signed }
}

const noEvents = { count: 0, lamport: -1, hash: '\0'.repeat(32) as Hash }
