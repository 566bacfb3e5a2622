import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { genesis, type Head, type StreamKey, type TopicKind } from '../protocol/index.ts'
import { ChainEnd } from './chain.ts'
import { fitsChunk } from './chunk-bounds.ts'

/** The state at the end of a stream that the replication rules need. */
export interface StreamPosition {
  readonly key: StreamKey
  readonly own: boolean
  /** Number of events, including pruned ones. */
  count: number
  /** The lamport timestamp of the last event; -1 for an empty stream. */
  lamport: number
  chain: ChainEnd
  /** Number of pruned events, from the start. */
  pruned: number
  /** The count of the last checkpoint, and the events and bytes since. */
  checkpoint: number
  eventsSince: number
  bytesSince: number
}

/** The position of an empty stream. */
export function startOfStream(topic: string, kind: TopicKind, key: StreamKey, own: boolean): StreamPosition {
  return {
    key,
    own,
    count: 0,
    lamport: -1,
    chain: new ChainEnd(genesis(topic, key, kind)),
    pruned: 0,
    checkpoint: 0,
    eventsSince: 0,
    bytesSince: 0,
  }
}

/** Events to append to a stream. */
export interface Growth {
  readonly count: number
  /** The lamport timestamp of the last event. */
  readonly lamport: number
  /** The end of the chain after them. */
  readonly chain: ChainEnd
  /** Size of their frame records as stored. */
  readonly bytes: number
}

export function grow(position: StreamPosition, { count, lamport, chain, bytes }: Growth): void {
  assert(lamport > position.lamport, 'lamport timestamps ascend within a stream')
  position.count += count
  position.lamport = lamport
  position.chain = chain
  position.eventsSince += count
  position.bytesSince += bytes
}

/** Appends a frame to an own stream. The chunk before it is not full: a full one has ended with a checkpoint. */
export function growOwn(position: StreamPosition, frame: Growth): void {
  const { eventsPerCheckpoint, bytesPerCheckpoint } = format
  assert(
    fitsChunk(eventsPerCheckpoint - 1 + frame.count, bytesPerCheckpoint - 1 + frame.bytes),
    'the chunk that a frame ends can be transferred, whatever is redacted',
  )
  grow(position, frame)
}

/** Whether the last chunk of an own stream is full and needs a checkpoint. */
export function isChunkFull({ eventsSince, bytesSince }: StreamPosition): boolean {
  return eventsSince >= format.eventsPerCheckpoint || bytesSince >= format.bytesPerCheckpoint
}

/** Ends the last chunk of a stream, after its checkpoint head was signed or received. */
export function endChunk(position: StreamPosition): void {
  position.checkpoint = position.count
  position.eventsSince = 0
  position.bytesSince = 0
}

/**
 * Continues after an early checkpoint, where the events before it are pruned. If it is in the unfinished chunk, that
 * chunk starts there now.
 * @param bytes size of the frame records between the checkpoint and the end of the stream
 */
export function startChunkAt(position: StreamPosition, checkpoint: number, bytes: number): void {
  assert(checkpoint <= position.count, 'a checkpoint is not beyond the end of its stream')
  if (checkpoint <= position.checkpoint) return
  position.checkpoint = checkpoint
  position.eventsSince = position.count - checkpoint
  position.bytesSince = bytes
}

/** Moves a stream to a checkpoint. The caller has to call `endChunk`, too. */
export function startAtCheckpoint(position: StreamPosition, { count, lamport, hash }: Head): void {
  position.count = count
  position.lamport = lamport
  position.chain = new ChainEnd(hash)
}
