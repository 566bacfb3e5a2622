import { ShoalError } from '../base/errors.ts'
import { format } from '../base/format.ts'
import { type Hash, type Head, heads, MalformedBytes } from '../protocol/index.ts'
import { ChainWalk } from './chain.ts'
import type { StoredStream } from './stored-stream.ts'

/**
 * The chain of a stream after `count` events, from the last checkpoint up to there; undefined when no frame ends there.
 * These events must not be pruned.
 */
export function chainAt(
  stream: Pick<StoredStream, 'genesis' | 'checkpointUpTo' | 'frames'>,
  count: number,
): ChainWalk | undefined {
  const checkpoint = stream.checkpointUpTo(count)
  const start =
    checkpoint === undefined ? { count: 0, lamport: -1, hash: stream.genesis } : heads.decodeStored(checkpoint)
  const walk = new ChainWalk(start.count, start)
  return walk.reach(count, stream.frames(start.count, count)) ? walk : undefined
}

/** The hash of the chain after `count` events; undefined when no frame ends there, `pruned` when it is not known. */
export function hashAt(stream: StoredStream, count: number): Hash | 'pruned' | undefined {
  const at = positionAt(stream, count)
  return typeof at === 'object' ? at.hash : at
}

/** How a head of another node relates to a stored stream. */
export type HeadPlace =
  /** It lies on the stored chain. */
  | 'contained'
  /** It does not: if it is signed, its node has forked the stream. */
  | 'contradicts'
  /** It is beyond the stored events. */
  | 'ahead'
  /** The events up to it are pruned, and their hashes with them. */
  | 'pruned'

/** Compares a verified head with the stored chain of its stream; undefined when the stream is not stored. */
export function placeOf({ count, lamport, hash }: Head, stream: StoredStream | undefined): HeadPlace {
  if (count > (stream?.count ?? 0) || stream === undefined) return 'ahead'
  const at = positionAt(stream, count)
  if (at === 'pruned') return 'pruned'
  if (at?.hash !== hash) return 'contradicts'
  // The hash covers the timestamp: only a dishonest node signs both.
  if (count > 0 && at.lamport !== lamport)
    throw new MalformedBytes('the lamport timestamp of a head contradicts its hash')
  return 'contained'
}

function positionAt(stream: StoredStream, count: number): Pick<ChainWalk, 'hash' | 'lamport'> | 'pruned' | undefined {
  requireOffset(count)
  if (count === 0) return { hash: stream.genesis, lamport: -1 }
  if (count < stream.pruned) return 'pruned'
  return count > stream.count ? undefined : chainAt(stream, count)
}

/** Throws for a number that no offset or count can have. */
export function requireOffset(offset: number): void {
  if (!Number.isSafeInteger(offset) || offset < 0 || offset > format.eventsPerStream)
    throw new ShoalError('ERR_INVALID_INPUT', `${offset} is no offset: 0 to ${format.eventsPerStream} are allowed.`)
}
