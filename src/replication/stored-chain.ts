import { type Frame, type Hash, type Head, heads } from '../protocol/index.ts'
import { chainAt } from './chain-position.ts'
import type { StreamPosition } from './stream-position.ts'

/** The hash chain of a stream as far as it is stored. */
export interface StoredChain {
  readonly position: Readonly<StreamPosition>
  /** The hash before the first frame of the stream. */
  readonly genesis: Hash
  /** The signed head of the last checkpoint at or before a count; undefined when there is none. */
  checkpointUpTo(count: number): Uint8Array | undefined
  /** The first signed head at or after a count: that of a checkpoint, or the newest one. */
  headFrom(count: number): Uint8Array | undefined
  /** The frames from a checkpoint, or from the start of the stream, up to the one that contains the event before `to`. */
  frames(from: number, to: number): readonly Frame[]
}

/** A place in the chain: the last checkpoint before some events, or the start of the stream. */
export interface ChainStart {
  readonly count: number
  readonly lamport: number
  readonly hash: Hash
  readonly signedHead: Uint8Array | undefined
}

/** The last checkpoint at or before a count, or the start of the stream. */
export function startUpTo(count: number, chain: StoredChain): ChainStart {
  const signedHead = chain.checkpointUpTo(count)
  if (signedHead === undefined) return { count: 0, lamport: -1, hash: chain.genesis, signedHead }
  const { count: at, lamport, hash } = heads.decodeStored(signedHead)
  return { count: at, lamport, hash, signedHead }
}

/**
 * The hash of a stored chain after `count` events: undefined when no frame ends there, and 'unknown' when the events are
 * pruned or not stored yet.
 */
export function hashAt(count: number, chain: StoredChain): Hash | undefined | 'unknown' {
  const { position } = chain
  if (count > position.count || count < position.pruned) return 'unknown'
  if (count === position.count) return position.chain.hash
  return chainAt(chain, count)?.hash
}

/** Compares a signed head with the stored chain: a head is never taken for known by its count alone. */
export function compareHead({ count, hash }: Head, chain: StoredChain): 'same' | 'other' | 'unknown' {
  const own = hashAt(count, chain)
  if (own === 'unknown') return 'unknown'
  return own === hash ? 'same' : 'other'
}
