import { assert } from '../base/assert.ts'
import { type Chunk, type Frame, type Head, heads, MalformedBytes, type StreamKey } from '../protocol/index.ts'
import { ChainEnd, hashThrough } from './chain.ts'
import { fitsChunk } from './chunk-bounds.ts'
import type { ChunkLink } from './chunk-link.ts'
import { unlessMalformed } from './chunk-verification.ts'
import { type ComparedChunk, evidenceAgainst, evidenceOfHeads, isOnChain } from './fork.ts'
import { isTooFarAhead, type LamportClock } from './lamport-clock.ts'
import { requireRedactionRecords } from './missing-payloads.ts'
import { withoutPayloads } from './redaction.ts'
import type { StoredChain } from './stored-chain.ts'
import type { StreamLimit } from './stream-budget.ts'
import { endChunk, type Growth, grow, type StreamPosition, startOfStream } from './stream-position.ts'
import { isOwnStream, type ReceiveContext, type TopicContext } from './streams.ts'
import {
  hasRoom,
  mayKeepPayloads,
  nextWaiting,
  verifyGiven,
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
  /** A duplicate, too, but its stored copy was damaged: it was replaced. */
  | { readonly state: 'repaired'; readonly count: number }
  /** Out of order: kept until the gap before it, from `count` on, is filled. */
  | { readonly state: 'waiting'; readonly count: number }
  /** Out of order, and not kept: the events from `count` on are missing. With the head before it, it may be kept. */
  | { readonly state: 'gap'; readonly count: number }
  /** Not linked to the stored events, and no proof of a fork: comparing checkpoint heads tells more. */
  | { readonly state: 'contradicts'; readonly count: number }
  /** The node of the stream has forked it. The evidence is stored, and the stream is frozen. */
  | { readonly state: 'forked'; readonly count: number }
  /** The stream was frozen before, because of a fork. Nothing is accepted any more. */
  | { readonly state: 'frozen'; readonly count: number }
  /** Deferred: its lamport timestamps are too far in the future. */
  | { readonly state: 'early'; readonly count: number }
  /** Not stored: its stream is unknown here, and would exceed a limit. */
  | { readonly state: 'refused'; readonly count: number; readonly limit: StreamLimit }

/** The answer to a chunk that breaks a rule: nothing of it is stored. */
export interface MalformedChunk {
  readonly state: 'malformed'
  readonly reason: string
}

/** How a chunk or record has come, and what its sender has given with it. */
export interface ReceiveOptions {
  /** The peer that has sent it: new streams are charged to it. */
  readonly from?: string | undefined
  /** The signed head at the start of the chunk: a chunk that is out of order is verified from it. */
  readonly before?: Uint8Array | undefined
}

/** What to do with a chunk. */
export type Decision =
  /** Nothing: it is only answered. */
  | { readonly is: 'answer'; readonly answer: Received }
  /** It is kept until the gap before it is filled. */
  | { readonly is: 'wait'; readonly waiting: WaitingChunk }
  /** These additions are stored. Then the waiting chunks that they have reached are compared. */
  | ({ readonly is: 'store' } & Plan)
  /** The stream is frozen, and the evidence is stored. */
  | { readonly is: 'fork'; readonly evidence: Buffer }

/**
 * Decides what to do with a chunk. Nothing is changed, so that a bad chunk, which throws, costs the store nothing.
 * @param bytes the encoded chunk
 * @param streams the stored streams
 */
export function decideChunk(
  bytes: Uint8Array,
  options: ReceiveOptions,
  streams: ReceivingStreams,
  context: ReceiveContext,
): Decision & { readonly chunk: Chunk } {
  const { chunk, link } = verifyGiven(bytes, options.before)
  return decideVerified({ ...chunk, size: bytes.length, link }, options, streams, context)
}

/** A chunk whose contents were verified. */
export interface VerifiedContents extends Chunk {
  /** The size of the encoded chunk. */
  readonly size: number
  readonly link: ChunkLink | undefined
}

/** The same for a chunk that was verified by `verifyGiven`. */
export function decideVerified(
  chunk: VerifiedContents,
  { before, from }: ReceiveOptions,
  streams: ReceivingStreams,
  context: ReceiveContext,
): Decision & { readonly chunk: Chunk } {
  const { head } = chunk
  if (head.topic !== context.topic) throw new MalformedBytes('a chunk of another topic')
  const isOwn = isOwnStream(head.stream, context)
  const known = streams.find(head.stream)
  const stream = known ?? emptyStream(head.stream, context)
  const { count } = stream.position
  const answer = (state: Exclude<Received['state'], 'refused'>) =>
    ({ chunk, is: 'answer', answer: { state, count } }) as const
  if (stream.isFrozen) return answer('frozen')
  if (head.count <= count && isOnChain(head, stream)) return answer('known')
  if (isTooFarAhead(head.lamport, context.now())) return answer('early')
  // Chunks of own streams do not wait: new events get these offsets.
  if (chunk.first > count && isOwn) return answer('gap')
  if (chunk.first > count) return { chunk, ...decideEarly(chunk, before, known) }
  const limit = known === undefined ? streams.limitOf(head.stream, from) : undefined
  if (limit !== undefined) return { chunk, is: 'answer', answer: { state: 'refused', count, limit } }
  const plan = head.count > count ? planChunk(chunk, stream) : undefined
  if (plan !== undefined) return { chunk, is: 'store', ...plan }
  const evidence = known && evidenceAgainst(compared(chunk, before), known)
  if (evidence !== undefined) return { chunk, is: 'fork', evidence }
  // The hash before the first frame is the same for everybody.
  if (chunk.first === 0) throw new MalformedBytes('the frames do not lead to the signed head')
  return answer('contradicts')
}

function compared(chunk: VerifiedContents, before: Uint8Array | undefined): ComparedChunk {
  if (before === undefined || chunk.first === 0) return { chunk }
  return { chunk, start: { head: heads.decode(before), signedHead: before } }
}

/** Decides about a chunk that is ahead of its stream. */
function decideEarly(
  chunk: VerifiedContents,
  before: Uint8Array | undefined,
  stream: ReceivingStream | undefined,
): Decision {
  const { first, head, size } = chunk
  const answer = (state: 'gap' | 'waiting') =>
    ({ is: 'answer', answer: { state, count: stream?.position.count ?? 0 } }) as const
  // An unknown stream has no place for waiting chunks: anyone can make up streams.
  if (before === undefined || stream === undefined) return answer('gap')
  const waiting = { chunk, before: heads.decode(before), signedBefore: before }
  const room = stream.waitingRoom()
  const other = room.at(first)
  if (other !== undefined && other.before.hash !== waiting.before.hash) {
    const evidence = evidenceOfHeads(other.signedBefore, before)
    if (evidence !== undefined) return { is: 'fork', evidence }
  }
  if (!mayKeepPayloads(chunk, stream.redactedBetween(first, head.count))) return answer('gap')
  if (other !== undefined) return answer(other.chunk.head.count >= head.count ? 'waiting' : 'gap')
  return hasRoom(room, waitingBytes(size, before)) ? { is: 'wait', waiting } : answer('gap')
}

/** The evidence that one of the reached waiting chunks is of another branch than what was stored instead. */
export function evidenceOfReached(reached: readonly WaitingChunk[], stream: StoredChain): Buffer | undefined {
  for (const { chunk, before, signedBefore } of reached) {
    const evidence = evidenceAgainst({ chunk, start: { head: before, signedHead: signedBefore } }, stream)
    if (evidence !== undefined) return evidence
  }
  return undefined
}

/** A stream of which nothing is stored. */
export function emptyStream(key: StreamKey, { topic, kind }: TopicContext): ReceivingStream {
  const nothing = { chunks: 0, bytes: 0 }
  const position = startOfStream(topic, kind, key, false)
  return {
    position,
    isFrozen: false,
    genesis: position.chain.hash,
    checkpointUpTo: () => undefined,
    headFrom: () => undefined,
    frames: () => [],
    redactedBetween: () => [],
    waitingUpTo: () => [],
    waitingRoom: () => ({ stream: nothing, all: nothing, at: () => undefined }),
  }
}

/** The streams of a store, for admission. */
export interface ReceivingStreams {
  find(key: StreamKey): ReceivingStream | undefined
  /** The limit that keeps a new stream from being added; see `StreamBudget`. */
  limitOf(key: StreamKey, from: string | undefined): StreamLimit | undefined
}

/** A stream of another node, with the part of its stored state that admission needs. It is only read. */
export interface ReceivingStream extends StoredChain {
  /** Whether a fork of the stream is known. */
  readonly isFrozen: boolean
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

/** What to store, and the waiting chunks that were reached but do not continue the stream. */
export interface Plan {
  readonly additions: readonly Addition[]
  readonly reached: readonly WaitingChunk[]
}

/**
 * Plans the admission of a chunk that continues a stream, and of the waiting chunks that follow it; undefined when it
 * does not continue the stream. The store applies the additions in order, and drops the waiting chunks that start at or
 * before the new end.
 */
function planChunk(chunk: VerifiedContents, stream: ReceivingStream): Plan | undefined {
  const end = { ...stream.position }
  // Before its frames are parsed, if that was left to this place.
  if (chunk.link?.leads === false && isLinkedTo(chunk, end)) return undefined
  const addition = continuation(chunk, end, stream)
  if (addition === undefined) return undefined
  extend(end, addition)
  const { additions, reached } = planAfter(end, stream)
  return { additions: [addition, ...additions], reached }
}

/** Plans the admission of the waiting chunks that continue a stream now. An invalid one is left out. */
export function planWaiting(stream: ReceivingStream): Plan {
  return planAfter({ ...stream.position }, stream)
}

/** @param end the position after the additions planned so far, which is updated */
function planAfter(end: StreamPosition, stream: ReceivingStream): Plan {
  const additions: Addition[] = []
  const tried = new Set<number>()
  const added = new Set<number>()
  for (;;) {
    const reached = stream.waitingUpTo(end.count).filter(({ chunk }) => !added.has(chunk.first))
    const next = nextWaiting(
      reached.filter(({ chunk }) => !tried.has(chunk.first)),
      end.count,
    )
    if (next === undefined) return { additions, reached }
    const { chunk } = next
    tried.add(chunk.first)
    const addition = unlessMalformed(() => continuation(chunk, end, stream))
    if (addition === undefined) continue
    added.add(chunk.first)
    extend(end, addition)
    additions.push(addition)
  }
}

function extend(end: StreamPosition, addition: Addition): void {
  grow(end, addition)
  if (addition.head.checkpoint) endChunk(end)
}

/** Applies a planned addition to position and clock. The store has to persist it, and a checkpoint ends the chunk. */
export function applyAddition(
  addition: Growth & Pick<Addition, 'first'>,
  position: StreamPosition,
  clock: LamportClock,
): void {
  assert(addition.first === position.count, 'an addition continues its stream')
  grow(position, addition)
  clock.follow(addition.lamport)
}

/** A chunk that may have been linked before. */
type Linkable = Chunk & Partial<Pick<VerifiedContents, 'link'>>

/** Whether a chunk was linked from the end of a stream. */
function isLinkedTo({ first, link }: Linkable, end: StreamPosition): boolean {
  return first === end.count && link?.from === end.chain.hash
}

/**
 * The frames that a chunk adds after the end of a stream; undefined when they do not continue its hash chain. Throws if
 * they do, but break another rule.
 */
function continuation(chunk: Linkable, end: StreamPosition, stream: ReceivingStream): Addition | undefined {
  const { frames, head, signedHead } = chunk
  const { count: first, lamport, chain, eventsSince, bytesSince } = end
  const added = frames.filter((frame) => frame.first + frame.count > first)
  const count = head.count - first
  if (added[0]?.first !== first) return undefined
  const leads = isLinkedTo(chunk, end) ? chunk.link?.leads : hashThrough(added, chain.hash) === head.hash
  if (leads !== true) return undefined
  if ((added[0].lamports[0] as number) <= lamport) throw new MalformedBytes('the lamport timestamps are not ascending')
  const redacted = stream.redactedBetween(first, head.count)
  requireRedactionRecords(added, redacted)
  const kept = withoutPayloads(added, redacted)
  const bytes = kept.reduce((sum, { record: [start, end] }) => sum + end - start, 0)
  if (!fitsChunk(eventsSince + count, bytesSince + bytes)) throw new MalformedBytes('a stream has too few checkpoints')
  return { first, count, lamport: head.lamport, chain: new ChainEnd(head.hash), bytes, frames: kept, head, signedHead }
}
