import type { Chunk, Hash } from '../protocol/index.ts'
import { hashThrough } from './chain.ts'

/** Whether the frames of a chunk lead from a hash to its head: hashing is most of the work, and needs no store. */
export interface ChunkLink {
  readonly from: Hash
  readonly leads: boolean
}

export function linkChunk({ frames, head }: Pick<Chunk, 'frames' | 'head'>, from: Hash): ChunkLink {
  return { from, leads: hashThrough(frames, from) === head.hash }
}
