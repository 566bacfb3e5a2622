import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { genesis, type Head, type StreamKey, type TopicKind } from '../protocol/index.ts'
import { ChainEnd } from './chain.ts'

/** Where a stream stands: what the rules need to know of everything that came before. */
export interface StreamPosition {
  readonly key: StreamKey
  readonly own: boolean
  /** How many events there are, those that were pruned included. */
  count: number
  /** The lamport timestamp of the last event; -1 while there is none. */
  lamport: number
  chain: ChainEnd
  /** How many events from the start are gone. */
  pruned: number
  /** The count of the last checkpoint, and what came after it. */
  checkpoint: number
  eventsSince: number
  bytesSince: number
}

/** The position of a stream without events. */
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

/** Events that are added at the end of a stream. */
export interface Growth {
  readonly count: number
  /** The lamport timestamp of the last one. */
  readonly lamport: number
  /** The chain after them. */
  readonly chain: ChainEnd
  /** Bytes of their records as they are stored. */
  readonly bytes: number
}

export function grow(position: StreamPosition, { count, lamport, chain, bytes }: Growth): void {
  assert(lamport > position.lamport, 'lamport timestamps rise within a stream')
  position.count += count
  position.lamport = lamport
  position.chain = chain
  position.eventsSince += count
  position.bytesSince += bytes
}

/** Whether the chunk at the end of an own stream ends here, with a checkpoint. */
export function isChunkFull({ eventsSince, bytesSince }: StreamPosition): boolean {
  return eventsSince >= format.eventsPerCheckpoint || bytesSince >= format.bytesPerCheckpoint
}

/** Ends the chunk at the end of a stream: a checkpoint head was signed for it. */
export function endChunk(position: StreamPosition): void {
  position.checkpoint = position.count
  position.eventsSince = 0
  position.bytesSince = 0
}

/** Moves a stream to a checkpoint, whose chunk has to be ended as well. */
export function startAtCheckpoint(position: StreamPosition, { count, lamport, hash }: Head): void {
  position.count = count
  position.lamport = lamport
  position.chain = new ChainEnd(hash)
}
