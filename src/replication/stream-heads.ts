import { type Head, heads, type StreamKey } from '../protocol/index.ts'
import { isReplicated } from './announcing.ts'
import type { ChainPlace } from './chain.ts'
import type { StreamPosition } from './stream-position.ts'
import { storableNow, type TopicContext } from './streams.ts'

/** Signs the head of an own stream. */
export function signHead(
  { key: stream, count, lamport, chain: { hash } }: StreamPosition,
  checkpoint: boolean,
  context: TopicContext,
): Buffer {
  return sign({ stream, count, lamport, hash, checkpoint }, context)
}

/** Signs a checkpoint head after any frame of an own stream. */
export function signCheckpointAt(
  { count, lamport, hash }: ChainPlace,
  stream: StreamKey,
  context: TopicContext,
): Buffer {
  return sign({ stream, count, lamport, hash, checkpoint: true }, context)
}

function sign(head: Omit<Head, 'topic' | 'time'>, context: TopicContext): Buffer {
  return heads.sign({ ...head, topic: context.topic, time: storableNow(context) }, context.key)
}

/** The newest head of a stream: freshly signed for an own stream, the last received one for other streams. */
export function newestHead(
  position: StreamPosition,
  context: TopicContext,
  received: () => Uint8Array | undefined,
): Uint8Array | undefined {
  if (position.count === 0 || !isReplicated(context)) return undefined
  return position.own ? signHead(position, position.count === position.checkpoint, context) : received()
}

/**
 * The end of a chunk that starts at an offset: the next checkpoint, or without one the newest head. Undefined when the
 * chunk would be empty.
 */
export function endOfChunk(
  from: number,
  nextCheckpoint: Uint8Array | undefined,
  newest: Uint8Array | undefined,
): { readonly count: number; readonly signedHead: Uint8Array } | undefined {
  const signedHead = nextCheckpoint ?? newest
  if (signedHead === undefined) return undefined
  const { count } = heads.decodeStored(signedHead)
  return count > from ? { count, signedHead } : undefined
}
