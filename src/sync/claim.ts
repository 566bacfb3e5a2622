import type { Hash, StreamKey } from '../protocol/index.ts'

/** A head that peers have sent. */
export interface KnownHead {
  readonly stream: StreamKey
  /** The name of the stream. */
  readonly name: string
  readonly count: number
  readonly hash: Hash
  readonly signed: Uint8Array
  isVerified: boolean
  /** The claim of the peers that have sent it. */
  shared: Claim | undefined
}

/** What a peer says that it has of a stream. Peers that say the same share one, see `claimOfHead`. */
export interface Claim {
  readonly stream: StreamKey
  readonly isFrozen: boolean
  readonly count: number
  readonly pruned: number
  /** The chain hash after `count` events. */
  readonly hash: Hash | undefined
  /** The sent part of the hash of what its records have removed; undefined when it is not known. */
  readonly records: string | undefined
  /** Its signed head, verified before events are asked for; undefined of a frozen stream. */
  readonly head: KnownHead | undefined
  /** The time before which it is not asked again: it had nothing to send. */
  readonly askFrom: number
  /** Whether its records were asked for: they may have no effect here. */
  readonly areRecordsFetched: boolean
  /**
   * Of a frozen stream: whether the events before the fork are to be asked for, or the prune record that says where they
   * start. The evidence is asked for after that.
   */
  readonly prefix: 'wanted' | 'pruned' | 'fetched'
}

/** What is remembered about a claim. */
export type ClaimState = Pick<Claim, 'askFrom' | 'areRecordsFetched' | 'prefix'>

/** The claim of a head. In a large swarm most peers have the same heads, so claims take the most memory. */
export function claimOfHead(
  head: KnownHead,
  said: Omit<Claim, 'stream' | 'isFrozen' | 'count' | 'hash' | 'head'>,
): Claim {
  const { shared } = head
  const isSame =
    shared?.pruned === said.pruned &&
    shared.records === said.records &&
    shared.askFrom === said.askFrom &&
    shared.areRecordsFetched === said.areRecordsFetched &&
    shared.prefix === said.prefix
  if (isSame) return shared
  const { stream, count, hash } = head
  const claim: Claim = { stream, isFrozen: false, count, hash, head, ...said }
  if (said.askFrom === 0) head.shared = claim
  return claim
}
