import { assert } from '../base/assert.ts'
import { type Chunk, type Frame, type Head, MalformedBytes } from '../protocol/index.ts'
import { ChainEnd, hashThrough } from './chain.ts'
import { fitsChunk } from './chunk-bounds.ts'
import { unlessMalformed } from './chunk-verification.ts'
import { isTooFarAhead, type LamportClock } from './lamport-clock.ts'
import { requireRedactionRecords } from './missing-payloads.ts'
import { withoutPayloads } from './redaction.ts'
import { endChunk, type Growth, grow, type StreamPosition } from './stream-position.ts'
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

/** A stream of another node, with the part of its stored state that admission needs. It is only read. */
export interface ReceivingStream {
  readonly position: Readonly<StreamPosition>
  /** The redacted offsets in a range, including those of events that were not received yet. */
  redactedBetween(from: number, to: number): readonly number[]
  /** All waiting chunks that start at or before an offset. */
  waitingUpTo(offset: number): readonly Chunk[]
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
 * Plans the admission of a chunk that continues a stream, and of the waiting chunks that follow it. Nothing is changed,
 * so that a chunk that conflicts with the stream, which throws, costs the store nothing. The store then applies the
 * additions in order, and drops the waiting chunks that start at or before the new end.
 */
export function planChunk(chunk: Chunk, stream: ReceivingStream): Addition[] {
  const end = { ...stream.position }
  const addition = continuation(chunk, end, stream)
  extend(end, addition)
  return [addition, ...planAfter(end, stream)]
}

/** Plans the admission of the waiting chunks that continue a stream now. An invalid one is left out. */
export function planWaiting(stream: ReceivingStream): Addition[] {
  return planAfter({ ...stream.position }, stream)
}

/** @param end the position after the additions planned so far, which is updated */
function planAfter(end: StreamPosition, stream: ReceivingStream): Addition[] {
  const additions: Addition[] = []
  const invalid = new Set<number>()
  for (;;) {
    const reached = stream.waitingUpTo(end.count).filter(({ first }) => !invalid.has(first))
    const chunk = nextWaiting(reached, end.count)
    if (chunk === undefined) return additions
    const addition = unlessMalformed(() => continuation(chunk, end, stream))
    if (addition === undefined) {
      invalid.add(chunk.first)
      continue
    }
    extend(end, addition)
    additions.push(addition)
  }
}

function extend(end: StreamPosition, addition: Addition): void {
  grow(end, addition)
  if (addition.head.checkpoint) endChunk(end)
}

/** Applies a planned addition to position and clock. The store has to persist it, and a checkpoint ends the chunk. */
export function applyAddition(addition: Addition, position: StreamPosition, clock: LamportClock): void {
  assert(addition.first === position.count, 'an addition continues its stream')
  grow(position, addition)
  clock.follow(addition.lamport)
}

/** The frames that a chunk adds after the end of a stream. Throws unless they continue its hash chain. */
function continuation({ frames, head, signedHead }: Chunk, end: StreamPosition, stream: ReceivingStream): Addition {
  const { count: first, lamport, chain, eventsSince, bytesSince } = end
  const added = frames.filter((frame) => frame.first + frame.count > first)
  const count = head.count - first
  if (added[0]?.first !== first) throw new MalformedBytes('a chunk has other frame boundaries than the stream')
  if ((added[0].lamports[0] as number) <= lamport) throw new MalformedBytes('the lamport timestamps are not ascending')
  const hash = hashThrough(added, chain.hash)
  if (hash !== head.hash) throw new MalformedBytes('the frames do not lead to the signed head')
  const redacted = stream.redactedBetween(first, head.count)
  requireRedactionRecords(added, redacted)
  const kept = withoutPayloads(added, redacted)
  const bytes = kept.reduce((sum, { record: [start, end] }) => sum + end - start, 0)
  if (!fitsChunk(eventsSince + count, bytesSince + bytes)) throw new MalformedBytes('a stream has too few checkpoints')
  return { first, count, lamport: head.lamport, chain: new ChainEnd(hash), bytes, frames: kept, head, signedHead }
}
