import { limits } from '../base/limits.ts'
import type { Chunk } from '../protocol/index.ts'
import { hasPayload } from './redaction.ts'

/**
 * Whether a chunk that came too early is kept. Nothing of it can be verified before the chunks in front of it have come, so
 * the number of them is bounded, and one does not replace another.
 * @param waiting the offsets at which chunks of this stream wait already
 * @param redacted the offsets of the chunk whose payloads are to be removed: one that still has one has to come again
 */
export function mayWait(chunk: Chunk, waiting: readonly number[], redacted: readonly number[]): boolean {
  if (waiting.length >= limits.waitingChunks || waiting.includes(chunk.first)) return false
  return !redacted.some((offset) => chunk.frames.some((frame) => hasPayload(frame, offset)))
}

/** Of the waiting chunks that begin within a stream or at its end, the one that continues it; the others are of no use. */
export function nextWaiting(reached: readonly Chunk[], count: number): Chunk | undefined {
  return reached.toSorted((a, b) => b.first - a.first).find(({ head }) => head.count > count)
}
