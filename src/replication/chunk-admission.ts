import { assert } from '../base/assert.ts'
import { type Chunk, type Frame, type Head, MalformedBytes, type StreamKey } from '../protocol/index.ts'
import { ChainEnd, hashThrough } from './chain.ts'
import { fitsChunk } from './chunk-bounds.ts'
import { readChunk, unlessMalformed } from './chunk-verification.ts'
import { isTooFarAhead, type LamportClock } from './lamport-clock.ts'
import { requireRedactionRecords } from './missing-payloads.ts'
import { withoutPayloads } from './redaction.ts'
import { endChunk, type Growth, grow, type StreamPosition, startOfStream } from './stream-position.ts'
import { isOwnStream, type TopicContext } from './streams.ts'
import {
  hasRoom,
  mayKeepPayloads,
  nextWaiting,
  verifyFrom,
  type WaitingChunk,
  type WaitingRoom,
  waitingBytes,
} from './waiting-chunks.ts'

/** The outcome of receiving a chunk from another node. */
export type Received =
  /** Stored; events up to `count` can be read. */
  | { readonly state: 'stored'; readonly count: number }
  /** A duplicate: all its events were stored before. */
  | { readonly state: 'known'; readonly count: number }
  /** Out of order: kept until the gap before it, from `count` on, is filled. */
  | { readonly state: 'waiting'; readonly count: number }
  /** Out of order, and not kept: the events from `count` on are missing. With the head before it, it may be kept. */
  | { readonly state: 'gap'; readonly count: number }
  /** Deferred: its lamport timestamps are too far in the future. */
  | { readonly state: 'early'; readonly count: number }

/** What the sender of a chunk gives with it. */
export interface ReceiveOptions {
  /** The signed head at the start of the chunk: a chunk that is out of order is verified from it. */
  readonly before?: Uint8Array | undefined
}

/** What to do with a chunk. */
export type Decision =
  /** Nothing: it is only answered. */
  | { readonly is: 'answer'; readonly answer: Received }
  /** It is kept until the gap before it is filled. */
  | { readonly is: 'wait'; readonly waiting: WaitingChunk }
  /** These additions are stored. */
  | { readonly is: 'store'; readonly additions: readonly Addition[] }

/**
 * Decides what to do with a chunk. Nothing is changed, so that a bad chunk, which throws, costs the store nothing.
 * @param bytes the encoded chunk
 * @param find the stream of a key, if it is known
 */
export function decideChunk(
  bytes: Uint8Array,
  { before }: ReceiveOptions,
  find: (key: StreamKey) => ReceivingStream | undefined,
  context: TopicContext,
): Decision & { readonly chunk: Chunk } {
  const chunk = readChunk(bytes)
  const { head } = chunk
  if (head.topic !== context.topic) throw new MalformedBytes('a chunk of another topic')
  if (isOwnStream(head.stream, context)) throw new MalformedBytes('a chunk of a stream of this node')
  const known = find(head.stream)
  const stream = known ?? emptyStream(head.stream, context)
  const { count } = stream.position
  const answer = (state: 'known' | 'early' | 'gap' | 'waiting') =>
    ({ chunk, is: 'answer', answer: { state, count } }) as const
  if (head.count <= count) return answer('known')
  if (isTooFarAhead(head.lamport, context.now())) return answer('early')
  if (chunk.first <= count) return { chunk, is: 'store', additions: planChunk(chunk, stream) }
  // An unknown stream has no place for waiting chunks: anyone can make up streams.
  if (before === undefined || known === undefined) return answer('gap')
  const waiting = verifyFrom(before, chunk)
  if (!mayKeepPayloads(chunk, known.redactedBetween(chunk.first, head.count))) return answer('gap')
  const room = known.waitingRoom()
  const other = room.at(chunk.first)
  if (other !== undefined) return answer(other.chunk.head.count >= head.count ? 'waiting' : 'gap')
  return hasRoom(room, waitingBytes(bytes, before)) ? { chunk, is: 'wait', waiting } : answer('gap')
}

function emptyStream(key: StreamKey, { topic, kind }: TopicContext): ReceivingStream {
  const nothing = { chunks: 0, bytes: 0 }
  return {
    position: startOfStream(topic, kind, key, false),
    redactedBetween: () => [],
    waitingUpTo: () => [],
    waitingRoom: () => ({ stream: nothing, all: nothing, at: () => undefined }),
  }
}

/** A stream of another node, with the part of its stored state that admission needs. It is only read. */
export interface ReceivingStream {
  readonly position: Readonly<StreamPosition>
  /** The redacted offsets in a range, including those of events that were not received yet. */
  redactedBetween(from: number, to: number): readonly number[]
  /** All waiting chunks that start at or before an offset. */
  waitingUpTo(offset: number): readonly WaitingChunk[]
  waitingRoom(): WaitingRoom
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
 * Plans the admission of a chunk that continues a stream, and of the waiting chunks that follow it. The store applies
 * the additions in order, and drops the waiting chunks that start at or before the new end.
 */
function planChunk(chunk: Chunk, stream: ReceivingStream): Addition[] {
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
    const reached = stream.waitingUpTo(end.count).filter(({ chunk }) => !invalid.has(chunk.first))
    const next = nextWaiting(reached, end.count)
    if (next === undefined) return additions
    const addition = unlessMalformed(() => continuation(next.chunk, end, stream))
    if (addition === undefined) {
      invalid.add(next.chunk.first)
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
