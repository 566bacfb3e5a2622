import { limits } from '../base/limits.ts'
import { type Chunk, type Head, heads, MalformedBytes } from '../protocol/index.ts'
import { hashThrough } from './chain.ts'
import type { ChunkLink } from './chunk-link.ts'
import { readChunk } from './chunk-verification.ts'
import { requireRedactionRecords } from './missing-payloads.ts'
import { hasPayload } from './redaction.ts'
import { isSameStream } from './streams.ts'

/** An out-of-order chunk, verified from the signed head before it. */
export interface WaitingChunk {
  readonly chunk: Chunk
  readonly before: Head
  readonly signedBefore: Uint8Array
}

/**
 * Verifies a chunk from the signed head at its start. Both are of the node of the stream, so a chunk that passes is
 * either genuine, or its node has forked the stream. Its lamport timestamps bound that of the head before it.
 */
export function verifyFrom(signedBefore: Uint8Array, chunk: Chunk): WaitingChunk {
  const before = heads.verify(signedBefore)
  const { head, frames, first } = chunk
  if (before.topic !== head.topic || !isSameStream(before.stream, head.stream) || before.count !== first)
    throw new MalformedBytes('the head before a chunk is of another place')
  if (before.lamport >= (frames[0]?.lamports[0] as number))
    throw new MalformedBytes('the lamport timestamps are not ascending')
  if (hashThrough(frames, before.hash) !== head.hash)
    throw new MalformedBytes('the frames do not lead to the signed head')
  return { chunk, before, signedBefore }
}

/**
 * Verifies everything of a chunk that needs no store: its contents, and that it follows the head at its start, if that is
 * given. The first chunk of a stream needs none.
 */
export function verifyGiven(
  bytes: Uint8Array,
  before: Uint8Array | undefined,
): { readonly chunk: Chunk; readonly link: ChunkLink | undefined } {
  const chunk = readChunk(bytes)
  if (before === undefined || chunk.first === 0) return { chunk, link: undefined }
  return { chunk, link: { from: verifyFrom(before, chunk).before.hash, leads: true } }
}

/** The waiting chunks of a stream or of all streams: their number and their size. */
interface WaitingUsage {
  readonly chunks: number
  readonly bytes: number
}

/** What is waiting already. */
export interface WaitingRoom {
  readonly stream: WaitingUsage
  readonly all: WaitingUsage
  /** The waiting chunk of the stream that starts at an offset. */
  at(first: number): WaitingChunk | undefined
}

/**
 * The size of a waiting chunk that is charged to the budgets.
 * @param size the size of the encoded chunk
 */
export function waitingBytes(size: number, signedBefore: Uint8Array): number {
  return size + signedBefore.length
}

/**
 * Whether there is room for another waiting chunk. Nothing is evicted for it: otherwise one stream could take the room
 * of the others.
 */
export function hasRoom({ stream, all }: WaitingRoom, bytes: number): boolean {
  return (
    stream.chunks < limits.waitingChunks &&
    stream.bytes + bytes <= limits.waitingBytes &&
    all.chunks < limits.waitingChunksInAll &&
    all.bytes + bytes <= limits.waitingBytesInAll
  )
}

/**
 * Whether the payloads of a chunk may be kept while it waits: one that still has a redacted payload is sent again.
 * Throws if a payload is missing without a redaction record.
 * @param redacted the redacted offsets within the chunk
 */
export function mayKeepPayloads({ frames }: Chunk, redacted: readonly number[]): boolean {
  requireRedactionRecords(frames, redacted)
  return !redacted.some((offset) => frames.some((frame) => hasPayload(frame, offset)))
}

/** The waiting chunk that continues a stream, of those that start at or before its end; the others are obsolete. */
export function nextWaiting(reached: readonly WaitingChunk[], count: number): WaitingChunk | undefined {
  return reached.toSorted((a, b) => b.chunk.first - a.chunk.first).find(({ chunk }) => chunk.head.count > count)
}
