import { ShoalError } from '../base/errors.ts'
import {
  type Head,
  heads,
  type PruneRecord,
  pruneRecords,
  type StreamKey,
  verifyStoredPrune,
} from '../protocol/index.ts'
import { isReplicated } from './announcing.ts'
import type { ChainPlace } from './chain.ts'
import { isTooFarAhead } from './lamport-clock.ts'
import { signCheckpointAt } from './stream-heads.ts'
import type { StreamPosition } from './stream-position.ts'
import { isOwnStream, isSameStream, requireSameTopic, storableNow, type TopicContext } from './streams.ts'

/** Signs a prune record: the events of an own stream before a checkpoint are to be removed. */
export function signPrune(
  { count, hash, lamport }: ChainPlace,
  stream: StreamKey,
  context: TopicContext,
  time = storableNow(context),
): Buffer {
  return pruneRecords.sign({ topic: context.topic, stream, count, hash, lamport, time }, context.key)
}

/** Decodes a prune record, and checks its signature and topic. */
export function verifyPrune(signed: Uint8Array, context: TopicContext): PruneRecord {
  const record = pruneRecords.verify(signed)
  requireSameTopic(record.topic, context)
  return record
}

/**
 * A stored prune record in the form that can be sent. An own one of an earlier version is signed again, with the place of
 * its checkpoint; one of another node cannot be sent.
 */
export function currentPrune(signed: Uint8Array, place: ChainPlace, context: TopicContext): Uint8Array | undefined {
  if (pruneRecords.isOfType(signed)) return signed
  const { stream, time } = verifyStoredPrune(signed)
  return isOwnStream(stream, context) ? signPrune(place, stream, context, time) : undefined
}

/** The stored part of a stream, as far as pruning depends on it. */
export interface PrunableStream {
  readonly position: StreamPosition
  /** The place after `count` events, not before the pruned ones; undefined when no frame ends there. */
  placeAt(count: number): ChainPlace | undefined
  /** Whether the head of a checkpoint is stored. */
  hasCheckpoint(count: number): boolean
}

/** All events before a checkpoint are removed. */
export interface PruneRemoval {
  readonly is: 'remove'
  /** The checkpoint if it is not stored yet: it ends its chunk early. */
  readonly checkpoint?: { readonly place: ChainPlace; readonly signedHead: Uint8Array }
}

/** All events are removed, and the stream continues from the checkpoint head that came with the record. */
export interface PruneStart {
  readonly is: 'start'
  readonly head: Head
  readonly signedHead: Uint8Array
}

/** The effect of a prune record. */
export type PruneEffect =
  /** None: as much is pruned already. */
  | { readonly is: 'none' }
  /** None: it would remove own events without a local decision. */
  | { readonly is: 'hold' }
  /** None: the stored chain or the head that came with the record has another hash than the record. */
  | { readonly is: 'fork' }
  | PruneRemoval
  | PruneStart

/**
 * The effect of a prune record of another node. If it is ahead of the stream, its checkpoint head is needed too: later
 * chunks are verified from there. Throws when the head is missing or does not match.
 */
export function effectOfPrune(
  record: PruneRecord,
  signedHead: Uint8Array | undefined,
  known: PrunableStream | undefined,
  context: TopicContext,
): PruneEffect {
  const { count, stream } = record
  const { pruned, count: stored } = known?.position ?? { pruned: 0, count: 0 }
  const place = count >= pruned && count <= stored ? known?.placeAt(count) : undefined
  // A frame that ends there is part of the chain, so none that does is another chain as well.
  if (count >= pruned && count <= stored && !isSamePlace(place, record)) return { is: 'fork' }
  if (count <= pruned) return { is: 'none' }
  if (isOwnStream(stream, context)) return { is: 'hold' }
  if (place !== undefined && known?.hasCheckpoint(count) === true) return { is: 'remove' }
  if (signedHead === undefined || (place !== undefined && !isReplicated(context))) throw noCheckpoint(count)
  const head = verifyCheckpoint(signedHead, record, context)
  if (!isSamePlace(head, record)) return { is: 'fork' }
  return place === undefined ? { is: 'start', head, signedHead } : { is: 'remove', checkpoint: { place, signedHead } }
}

/**
 * Prunes an own stream by a decision of this node. Undefined when as much is pruned already. Throws unless a frame ends
 * at `count`, which becomes a checkpoint.
 */
export function decidePrune(
  stream: StreamKey,
  count: number,
  known: PrunableStream | undefined,
  context: TopicContext,
): (PruneRemoval & { readonly signed: Uint8Array }) | undefined {
  if (known === undefined || !(count > 0 && count <= known.position.count)) throw noCheckpoint(count)
  if (count <= known.position.pruned) return undefined
  const place = known.placeAt(count)
  // An imported stream has no signatures, so nothing could be verified from there.
  if (place === undefined || !isReplicated(context)) throw noCheckpoint(count)
  const signed = signPrune(place, stream, context)
  if (known.hasCheckpoint(count)) return { is: 'remove', signed }
  return { is: 'remove', signed, checkpoint: { place, signedHead: signCheckpointAt(place, stream, context) } }
}

function isSamePlace(place: ChainPlace | undefined, { count, hash, lamport }: ChainPlace): boolean {
  return place !== undefined && place.count === count && place.hash === hash && place.lamport === lamport
}

/** Verifies that a head is a checkpoint with the count that a prune record names. */
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
