import { format } from '../base/format.ts'
import { type Chunk, type Frame, type Head, MalformedBytes } from '../protocol/index.ts'
import { ChainEnd, hashThrough } from './chain.ts'
import { unlessMalformed } from './chunk-verification.ts'
import { isTooFarAhead, type LamportClock } from './lamport-clock.ts'
import { requireRedactionRecords } from './missing-payloads.ts'
import { withoutPayloads } from './redaction.ts'
import { type Growth, grow, type StreamPosition } from './stream-position.ts'
import { isOwnStream, type TopicContext } from './streams.ts'
import { nextWaiting } from './waiting-chunks.ts'

/** The outcome of receiving a chunk from another node. */
export type Received =
  /** Stored; events up to `count` can be read. */
  | { readonly state: 'stored'; readonly count: number }
  /** A duplicate: all its events were stored before. */
  | { readonly state: 'known'; readonly count: number }
  /** Out of order: kept until the gap before it, from `count` on, is filled. */
  | { readonly state: 'waiting'; readonly count: number }
  /** Deferred: its lamport timestamps are too far in the future. */
  | { readonly state: 'early'; readonly count: number }

/** Why a chunk is skipped; undefined when it is to be admitted. Throws for a chunk that no honest node would send. */
export function skipReason(
  { head }: Chunk,
  known: StreamPosition | undefined,
  context: TopicContext,
): 'known' | 'early' | undefined {
  if (head.topic !== context.topic) throw new MalformedBytes('a chunk of another topic')
  if (isOwnStream(head.stream, context)) throw new MalformedBytes('a chunk of a stream of this node')
  if (head.count <= (known?.count ?? 0)) return 'known'
  if (isTooFarAhead(head.lamport, context.now())) return 'early'
  return undefined
}

/** Whether a chunk is out of order: there is a gap between the end of the stream and the chunk. */
export function isAhead({ first }: Chunk, { count }: StreamPosition): boolean {
  return first > count
}

/** A stream of another node, with the part of its stored state that admission needs. */
export interface ReceivingStream {
  readonly position: StreamPosition
  readonly clock: LamportClock
  /** The redacted offsets in a range, including those of events that were not received yet. */
  redactedBetween(from: number, to: number): readonly number[]
  /** Removes from the store and returns all waiting chunks that start at or before an offset. */
  takeWaiting(upTo: number): readonly Chunk[]
}

/** Verified events of another node, to be stored at the end of their stream. */
export interface Addition extends Growth {
  readonly first: number
  /** Without redacted payloads. */
  readonly frames: readonly Frame[]
  /** The head after these frames. */
  readonly head: Head
  readonly signedHead: Uint8Array
}

/**
 * Admits a chunk that continues a stream, and the waiting chunks that follow it. Position and clock are updated before
 * an addition is yielded; the store has to persist it. A chunk that conflicts with the stream throws before any change.
 */
export function* admitChunk(chunk: Chunk, stream: ReceivingStream): Generator<Addition> {
  yield accept(chunk, stream)
  yield* admitWaiting(stream)
}

/** Admits the waiting chunks that continue a stream now. An invalid one is dropped; the others stay. */
export function* admitWaiting(stream: ReceivingStream): Generator<Addition> {
  const { position } = stream
  for (;;) {
    const chunk = nextWaiting(stream.takeWaiting(position.count), position.count)
    if (chunk === undefined) return
    const addition = unlessMalformed(() => accept(chunk, stream))
    if (addition !== undefined) yield addition
  }
}

function accept(chunk: Chunk, stream: ReceivingStream): Addition {
  const addition = continuation(chunk, stream)
  grow(stream.position, addition)
  stream.clock.follow(addition.lamport)
  return addition
}

/** The frames that a chunk adds to a stream. Throws unless they continue its hash chain. */
function continuation({ frames, head, signedHead }: Chunk, stream: ReceivingStream): Addition {
  const { count: first, lamport, chain, eventsSince } = stream.position
  const added = frames.filter((frame) => frame.first + frame.count > first)
  const count = head.count - first
  if (added[0]?.first !== first) throw new MalformedBytes('a chunk has other frame boundaries than the stream')
  if ((added[0].lamports[0] as number) <= lamport) throw new MalformedBytes('the lamport timestamps are not ascending')
  if (eventsSince + count > format.eventsPerChunk) throw new MalformedBytes('a stream has too few checkpoints')
  const hash = hashThrough(added, chain.hash)
  if (hash !== head.hash) throw new MalformedBytes('the frames do not lead to the signed head')
  const redacted = stream.redactedBetween(first, head.count)
  requireRedactionRecords(added, redacted)
  const kept = withoutPayloads(added, redacted)
  const bytes = kept.reduce((sum, { record: [start, end] }) => sum + end - start, 0)
  return { first, count, lamport: head.lamport, chain: new ChainEnd(hash), bytes, frames: kept, head, signedHead }
}
