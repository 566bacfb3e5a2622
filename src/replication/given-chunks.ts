import { ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { ChainPlace } from './chain.ts'

/** A chunk as another node has sent it. */
export interface GivenChunk {
  readonly bytes: Uint8Array
  /** The signed head at its start: a chunk that is out of order is verified from it. */
  readonly before?: Uint8Array | undefined
  /** Where the receiver's copy of its stream ends, if that is known: a chunk that continues it is verified from there. */
  readonly end?: StreamEnd | undefined
}

export type StreamEnd = Pick<ChainPlace, 'count' | 'hash'>

/** Throws when there are too many chunks to receive them together. Returns their size. */
export function requireReceivable(chunks: readonly GivenChunk[]): number {
  const bytes = chunks.reduce((sum, { bytes, before }) => sum + bytes.length + (before?.length ?? 0), 0)
  const { receivedChunks, receivedBytes } = limits
  if (chunks.length > receivedChunks || bytes > receivedBytes)
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      `${chunks.length} chunks of ${bytes} bytes are too many at once; there may be ${receivedChunks} of ${receivedBytes} bytes.`,
    )
  return bytes
}
