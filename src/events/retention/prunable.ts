import { tuning } from '../../base/tuning.ts'
import type { Retention } from '../../settings/index.ts'
import type { ChunkSize, FrameTime } from '../../store/index.ts'

/** Where the limits of a stream are at some moment: an event is kept if it is after both. */
export interface Bounds {
  /** Events before this offset exceed `maxEvents`. */
  readonly keptFrom: number
  /** Events before this time, in microseconds, exceed `maxAge`. */
  readonly oldestTime: number
  /** A part of a chunk is pruned when its first event is before this time. */
  readonly overdueTime: number
}

export function boundsOf(chunks: readonly ChunkSize[], { maxEvents, maxAgeSeconds }: Retention, now: number): Bounds {
  const maxAge = maxAgeSeconds === undefined ? Number.POSITIVE_INFINITY : maxAgeSeconds * 1e6
  const keptFrom = maxEvents === undefined ? 0 : (chunks.at(-1)?.end ?? 0) - maxEvents
  return { keptFrom, oldestTime: now - maxAge, overdueTime: now - overdueAge * maxAge }
}

/** The age, in multiples of `maxAge`, at which a part of a chunk is pruned. With the interval of runs it is below 2. */
const overdueAge = 1.5

/** Whether all events of a chunk, from an offset on, are older than a time in microseconds. */
export type IsBefore = (chunk: ChunkSize, from: number, time: number) => Promise<boolean>

/**
 * How many events from the start of a stream exceed its limits, in whole chunks: an event is kept while it meets all
 * limits, and a chunk is pruned when none of its events is kept.
 */
export async function prunable(
  chunks: readonly ChunkSize[],
  { maxBytes }: Retention,
  { keptFrom, oldestTime }: Bounds,
  isBefore: IsBefore,
): Promise<number> {
  let bytesAfter = chunks.reduce((sum, { bytes }) => sum + bytes, 0)
  let pruned = 0
  for (const chunk of chunks) {
    if (!chunk.complete) break
    bytesAfter -= chunk.bytes
    const isBeyond =
      chunk.end <= keptFrom ||
      (maxBytes !== undefined && bytesAfter >= maxBytes) ||
      // Last, because it reads events: timestamps are not guaranteed to ascend.
      (Number.isFinite(oldestTime) && (await isBefore(chunk, keptFrom, oldestTime)))
    if (!isBeyond) break
    pruned = chunk.end
  }
  return pruned
}

/**
 * Whether the first frames of a chunk have to be pruned without waiting for the rest of it. Not for every event beyond
 * the limits: an early checkpoint is a commit of its own.
 * @param firstTime reads the time of the first event of the chunk
 */
export async function isOverdue(
  { first }: ChunkSize,
  { keptFrom, overdueTime }: Bounds,
  firstTime: () => Promise<number>,
): Promise<boolean> {
  if (keptFrom - first >= tuning.eventsPerOwnFrame) return true
  return Number.isFinite(overdueTime) && (await firstTime()) < overdueTime
}

/** The end of the leading frames of a chunk that have no event within the limits; undefined when there are none. */
export function endOfBeyond(frames: readonly FrameTime[], { keptFrom, oldestTime }: Bounds): number | undefined {
  const kept = frames.findIndex(({ end, time }) => end > keptFrom && time >= oldestTime)
  return (kept === -1 ? frames : frames.slice(0, kept)).at(-1)?.end
}
