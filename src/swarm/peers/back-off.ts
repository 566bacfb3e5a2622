import { limits } from '../../base/limits.ts'

/** Milliseconds until the next try after some failures in a row: doubled each time, with jitter. */
export function backOffMs(failures: number, random: () => number): number {
  const { minRedialMs, maxRedialMs } = limits
  // The jitter is a quarter at most, so that the longest one stays below the limit.
  const base = Math.min(maxRedialMs * 0.8, minRedialMs * 2 ** Math.min(failures - 1, 30))
  return base * (1 + 0.25 * random())
}
