import type { Retention } from '../../settings/index.ts'
import type { ChunkSize } from '../../store/index.ts'

/** Whether all events of a chunk, from an offset on, are older than a time in microseconds. */
export type IsBefore = (chunk: ChunkSize, from: number, time: number) => Promise<boolean>

/**
 * How many events from the start of a stream exceed its limits, in whole chunks: an event is kept while it meets all
 * limits, and a chunk is pruned when none of its events is kept.
 */
export async function prunable(
  chunks: readonly ChunkSize[],
  { maxEvents, maxBytes, maxAgeSeconds }: Retention,
  now: number,
  isBefore: IsBefore,
): Promise<number> {
  const oldestTime = maxAgeSeconds === undefined ? undefined : now - maxAgeSeconds * 1e6
  const keptFrom = maxEvents === undefined ? 0 : (chunks.at(-1)?.end ?? 0) - maxEvents
  let bytesAfter = chunks.reduce((sum, { bytes }) => sum + bytes, 0)
  let pruned = 0
  for (const chunk of chunks) {
    if (!chunk.complete) break
    bytesAfter -= chunk.bytes
    const isBeyond =
      chunk.end <= keptFrom ||
      (maxBytes !== undefined && bytesAfter >= maxBytes) ||
      // Last, because it reads events: timestamps are not guaranteed to ascend.
      (oldestTime !== undefined && (await isBefore(chunk, keptFrom, oldestTime)))
    if (!isBeyond) break
    pruned = chunk.end
  }
  return pruned
}
