import { limits } from '../base/limits.ts'
import type { Chunk } from '../protocol/index.ts'
import { requireRedactionRecords } from './missing-payloads.ts'
import { hasPayload } from './redaction.ts'

/**
 * Whether an out-of-order chunk is buffered. Its place in the chain cannot be verified before the gap is filled, so the
 * buffer is bounded, and a chunk does not replace another one. Throws if a payload is missing without a redaction record.
 * @param waiting the start offsets of the chunks of this stream that are waiting
 * @param redacted the redacted offsets within the chunk: one that still has such a payload is refused and sent again
 */
export function mayWait(chunk: Chunk, waiting: readonly number[], redacted: readonly number[]): boolean {
  requireRedactionRecords(chunk.frames, redacted)
  if (waiting.length >= limits.waitingChunks || waiting.includes(chunk.first)) return false
  return !redacted.some((offset) => chunk.frames.some((frame) => hasPayload(frame, offset)))
}

/** The waiting chunk that continues a stream, of those that start at or before its end; the others are obsolete. */
export function nextWaiting(reached: readonly Chunk[], count: number): Chunk | undefined {
  return reached.toSorted((a, b) => b.first - a.first).find(({ head }) => head.count > count)
}
