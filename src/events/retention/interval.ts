import { limits } from '../../base/limits.ts'
import { type StreamSettings, streamLimits } from './stream-limits.ts'

/** Runs per `maxAge`: with a part of a chunk pruned at 1.5 × `maxAge`, no event gets twice as old. */
const runsPerAge = 4

/** Milliseconds between two retention runs: short enough for the shortest `maxAge`. */
export function retentionInterval(settings: StreamSettings): number {
  const ages = [...streamLimits(settings).values()].flatMap(({ maxAgeSeconds }) => maxAgeSeconds ?? [])
  const needed = Math.min(...ages) * 1000
  return Math.max(limits.minRetentionMs, Math.min(limits.maxRetentionMs, needed / runsPerAge))
}
