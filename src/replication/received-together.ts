import { heads, type StreamKey, signedHeadOf } from '../protocol/index.ts'
import type { MalformedChunk, Received } from './chunk-admission.ts'
import { unlessMalformed } from './chunk-verification.ts'
import type { GivenChunk } from './given-chunks.ts'
import type { StreamHead } from './kept-heads.ts'
import { nameOfStream } from './streams.ts'

/** The answers to chunks that were received together. */
export interface ReceivedTogether {
  /** In the order of the chunks. */
  readonly answers: readonly (Received | MalformedChunk)[]
  /** The rows of their streams in the head table, after all of them. */
  readonly rows: readonly StreamHead[]
}

/** The rows of the streams of chunks, of which some may be malformed. */
export function rowsOfChunks(
  chunks: readonly Pick<GivenChunk, 'bytes'>[],
  rowOf: (key: StreamKey) => StreamHead | undefined,
): StreamHead[] {
  const streams = new Map<string, StreamKey>()
  for (const { bytes } of chunks) {
    const stream = streamOfChunk(bytes)
    if (stream !== undefined) streams.set(nameOfStream(stream), stream)
  }
  return [...streams.values()].map(rowOf).filter((row) => row !== undefined)
}

/** Undefined of a chunk that is malformed. */
export function streamOfChunk(chunk: Uint8Array): StreamKey | undefined {
  return unlessMalformed(() => heads.decode(signedHeadOf(chunk)).stream)
}
