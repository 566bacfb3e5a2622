import { ShoalError } from '../base/errors.ts'
import { type Head, heads, type PruneRecord, pruneRecords } from '../protocol/index.ts'
import type { ChainWalk } from './chain.ts'
import { isTooFarAhead } from './lamport-clock.ts'
import { isHeld, type RecordOrigin } from './records.ts'
import { signCheckpointAt } from './stream-heads.ts'
import type { StreamPosition } from './stream-position.ts'
import { isOwnStream, isSameStream, ownStreamKey, requireSameTopic, storableNow, type TopicContext } from './streams.ts'

/** Signs a prune record: the events of an own stream before a checkpoint are to be removed. */
export function signPrune(number: number, count: number, context: TopicContext): Buffer {
  const { topic, key } = context
  const stream = ownStreamKey(number, context)
  return pruneRecords.sign({ topic, stream, count, time: storableNow(context) }, key)
}

/** Decodes a prune record, and checks its signature and topic. */
export function verifyPrune(signed: Uint8Array, context: TopicContext): PruneRecord {
  const record = pruneRecords.verify(signed)
  requireSameTopic(record.topic, context)
  return record
}

/** The effect of a prune record. */
export type PruneEffect =
  /** None: as much is pruned already. */
  | { readonly is: 'none' }
  /** None: it would remove own events without a local decision. */
  | { readonly is: 'hold' }
  /** All events before the checkpoint are removed. If it is not stored here, `earlyCheckpoint` provides it. */
  | { readonly is: 'remove' }
  | PruneStart

/** All events are removed, and the stream continues from the checkpoint head that came with the record. */
export interface PruneStart {
  readonly is: 'start'
  readonly head: Head
  readonly signedHead: Uint8Array
}

/**
 * If the prune record is ahead of the stream, its checkpoint head is needed too: later chunks are verified from there.
 * Throws when the head is missing or does not match.
 */
export function effectOfPrune(
  record: PruneRecord,
  signedHead: Uint8Array | undefined,
  known: StreamPosition | undefined,
  context: TopicContext,
  origin: RecordOrigin,
): PruneEffect {
  if (known !== undefined && record.count <= known.pruned) return { is: 'none' }
  if (isHeld(record.stream, origin, context)) return { is: 'hold' }
  if (known !== undefined && record.count <= known.count) return { is: 'remove' }
  if (signedHead === undefined) throw noCheckpoint(record.count)
  return { is: 'start', head: verifyCheckpoint(signedHead, record, context), signedHead }
}

/**
 * The checkpoint head for a prune record that ends a chunk early, after any of its frames: signed for an own stream, for
 * other streams the head that came with the record.
 * @param at the chain of the stream after `count` events; undefined when no frame ends there
 */
export function earlyCheckpoint(
  record: PruneRecord,
  signedHead: Uint8Array | undefined,
  at: ChainWalk | undefined,
  context: TopicContext,
): Uint8Array {
  // An imported stream has no signatures, so nothing could be verified from there.
  if (at === undefined || context.kind === 'imported') throw noCheckpoint(record.count)
  const isOwn = isOwnStream(record.stream, context)
  if (signedHead === undefined) {
    if (isOwn) return signCheckpointAt(at, record.stream, context)
    throw noCheckpoint(record.count)
  }
  const head = verifyCheckpoint(signedHead, record, context)
  if (head.hash !== at.hash || head.lamport !== at.lamport)
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      'The checkpoint of the prune record contradicts the events of its stream.',
    )
  return signedHead
}

/** Verifies that a head is the checkpoint that a prune record names. */
function verifyCheckpoint(signedHead: Uint8Array, record: PruneRecord, { topic, now }: TopicContext): Head {
  const head = heads.verify(signedHead)
  const fits =
    head.checkpoint && head.count === record.count && head.topic === topic && isSameStream(head.stream, record.stream)
  if (!fits) throw new ShoalError('ERR_INVALID_INPUT', 'This head is not the checkpoint that the prune record names.')
  if (isTooFarAhead(head.lamport, now()))
    throw new ShoalError('ERR_INVALID_INPUT', 'The lamport timestamps of this stream are too far in the future.')
  return head
}

/** The error for a prune record whose count is not a checkpoint, and cannot become one. */
function noCheckpoint(count: number): ShoalError {
  return new ShoalError('ERR_INVALID_INPUT', `There is no checkpoint after ${count} events of this stream.`)
}
