import { failure, type ShoalError } from '../base/errors.ts'
import { type Chunk, type Frame, type Hash, type Head, hashAfter, heads } from '../protocol/index.ts'
import type { ChunkLink } from './chunk-link.ts'
import { type Branch, encodeEvidence, type ForkEvidence } from './fork-evidence.ts'
import { compareHead, hashAt, type StoredChain, startUpTo } from './stored-chain.ts'

/** A chunk, maybe with the verified head at its start. */
export interface ComparedChunk {
  readonly chunk: Chunk & { readonly link?: ChunkLink | undefined }
  readonly start?: { readonly head: Head; readonly signedHead: Uint8Array } | undefined
}

/**
 * The evidence that a chunk is of another branch than the stored chain; undefined when it proves nothing. It is for
 * chunks that start at or before the end of the stream and do not continue it.
 */
export function evidenceAgainst({ chunk, start }: ComparedChunk, chain: StoredChain): Buffer | undefined {
  if (isOnChain(chunk.head, chain)) return undefined
  return (
    fromFrames(chunk, chain) ??
    (start && fromHead(start.head, start.signedHead, chain)) ??
    fromHead(chunk.head, chunk.signedHead, chain)
  )
}

/** Whether a head is on the stored chain, as far as that can be compared. */
export function isOnChain(head: Head, chain: StoredChain): boolean {
  return head.count <= chain.position.count && compareHead(head, chain) !== 'other'
}

/** Evidence from two heads of one stream with the same count. */
export function evidenceOfHeads(a: Uint8Array, b: Uint8Array): Buffer | undefined {
  return encodeEvidence({ signedHead: a, frames: [] }, { signedHead: b, frames: [] }, undefined)
}

/** Both branches from the last common checkpoint, if the frames of the chunk lead from the stored chain to its head. */
function fromFrames(chunk: ComparedChunk['chunk'], chain: StoredChain): Buffer | undefined {
  const first = hashAt(chunk.first, chain)
  if (first === undefined || first === 'unknown') return undefined
  if (chunk.link?.leads === false && chunk.link.from === first) return undefined
  const borders = bordersOf(chunk.frames, first)
  if (borders.get(chunk.head.count) !== chunk.head.hash) return undefined
  // A checkpoint at the count of the head is not common: it has another hash.
  let common = startUpTo(Math.min(chunk.head.count, chain.position.count), chain)
  while (common.count > chunk.first && borders.get(common.count) !== common.hash)
    common = startUpTo(common.count - 1, chain)
  const own = chain.headFrom(common.count + 1)
  if (own === undefined) return undefined
  const lead = common.count < chunk.first ? chain.frames(common.count, chunk.first) : []
  const theirs: Branch = {
    signedHead: chunk.signedHead,
    frames: [...lead, ...chunk.frames.filter(({ first }) => first >= common.count)],
  }
  return encodeEvidence(
    theirs,
    { signedHead: own, frames: chain.frames(common.count, heads.decodeStored(own).count) },
    common.signedHead,
  )
}

/** The hash after each frame. */
function bordersOf(frames: readonly Frame[], before: Hash): Map<number, Hash> {
  const borders = new Map<number, Hash>()
  let hash = before
  for (const frame of frames) {
    hash = hashAfter(frame, hash)
    borders.set(frame.first + frame.count, hash)
  }
  return borders
}

/** The stored branch from the checkpoint before a head that is not on it. */
function fromHead(head: Head, signedHead: Uint8Array, chain: StoredChain): Buffer | undefined {
  if (compareHead(head, chain) !== 'other') return undefined
  const own = chain.headFrom(head.count)
  if (own === undefined) return undefined
  const { count } = heads.decodeStored(own)
  const theirs = { signedHead, frames: [] }
  if (count === head.count) return evidenceOfHeads(own, signedHead)
  const start = startUpTo(head.count - 1, chain)
  return encodeEvidence({ signedHead: own, frames: chain.frames(start.count, count) }, theirs, start.signedHead)
}

/**
 * The count up to which a forked stream is still served: the last common checkpoint. Nothing is served if the stored
 * chain contradicts that one, too.
 */
export function frozenCount({ common }: ForkEvidence, chain: StoredChain): number {
  return common === undefined || compareHead(common, chain) === 'other' ? 0 : common.count
}

/** The error for appending to an own stream that is frozen. */
export function forkedStream(number: number): ShoalError {
  return failure('ERR_STREAM_FORKED', { stream: number })
}

/** The result of applying evidence. */
export interface AppliedEvidence {
  /** The stream is frozen now, or was frozen before. */
  readonly state: 'applied' | 'known'
}
