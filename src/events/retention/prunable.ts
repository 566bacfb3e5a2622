import { tuning } from '../../base/tuning.ts'
import type { Retention } from '../../settings/index.ts'
import type { ChunkSize } from '../../store/index.ts'
import type { EffectiveTime } from './clock-eras.ts'

/** Where the limits of a stream are at some moment: an event is kept if it is after both. */
export interface Bounds {
  /** Events before this offset exceed `maxEvents`. */
  readonly keptFrom: number
  /** Events before this time, in microseconds, exceed `maxAge`. */
  readonly oldestTime: number
  /** A part of a chunk is pruned when its first event is before this time. */
  readonly overdueTime: number
  /** In microseconds. */
  readonly now: number
}

export function boundsOf(chunks: readonly ChunkSize[], { maxEvents, maxAgeSeconds }: Retention, now: number): Bounds {
  const maxAge = maxAgeSeconds === undefined ? Number.POSITIVE_INFINITY : maxAgeSeconds * 1e6
  const keptFrom = maxEvents === undefined ? 0 : (chunks.at(-1)?.end ?? 0) - maxEvents
  return { keptFrom, oldestTime: now - maxAge, overdueTime: now - overdueAge * maxAge, now }
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

/** A frame with the time at which it was written, by the wall clock of now. */
export interface DatedFrame {
  readonly end: number
  readonly written: EffectiveTime
}

/**
 * Whether the expired frames at the start of a chunk are worth an early checkpoint, which is a commit of its own.
 * @param firstTime reads the time of the first event of the chunk
 */
export async function isOverdue(
  { first }: ChunkSize,
  bounds: Bounds,
  firstTime: () => Promise<EffectiveTime>,
): Promise<boolean> {
  const { keptFrom, overdueTime } = bounds
  if (keptFrom - first >= tuning.eventsPerOwnFrame) return true
  if (!Number.isFinite(overdueTime)) return false
  const written = await firstTime()
  // Behind an event of unknown age there may be others that are overdue.
  return written.time < overdueTime || isUndated(written, bounds)
}

/** What the limits say about the first frames of a stream. */
export interface Expired {
  /** The end of those that are beyond the limits; undefined when there are none. */
  readonly end: number | undefined
  /** Whether they may go on after the given frames. */
  readonly isOpen: boolean
}

/** Frames of unknown age are expired if a later one is: they must not keep all others for years. */
export function endOfExpired(frames: readonly DatedFrame[], bounds: Bounds): Expired {
  const { keptFrom, oldestTime } = bounds
  const kept = frames.findIndex(
    ({ end, written }) => end > keptFrom && written.time >= oldestTime && !isUndated(written, bounds),
  )
  const before = kept === -1 ? frames : frames.slice(0, kept)
  const last = before.findLast(({ end, written }) => end <= keptFrom || written.time < oldestTime)
  return { end: last?.end, isOpen: kept === -1 }
}

/** Whether an event is not as young as it seems, perhaps: it was written while the clock was wrong. */
function isUndated({ time, isCertain }: EffectiveTime, { now }: Bounds): boolean {
  return time > now || !isCertain
}
