import { performance } from 'node:perf_hooks'

/** The wall clock, which can be set and can jump, and a monotonic clock. */
export interface Clock {
  /** Wall time in microseconds since the Unix epoch. */
  readonly now: () => number
  /** Monotonic time in milliseconds, with fractions: for durations and deadlines. */
  readonly steadyMs: () => number
}

let origin = performance.timeOrigin

/** Microseconds since the Unix epoch. Follows the wall clock, with a higher resolution than `Date.now()`. */
export function nowMicros(): number {
  const wall = Date.now()
  let now = origin + performance.now()
  if (Math.abs(now - wall) > 2) {
    origin = wall - performance.now()
    now = wall
  }
  return Math.floor(now * 1000)
}

export const systemClock: Clock = { now: nowMicros, steadyMs: () => performance.now() }

/** Wall time in whole milliseconds, for formats that have no more digits. */
export function nowMs({ now }: Clock): number {
  return Math.floor(now() / 1000)
}

/** When this process started, in seconds since the Unix epoch. */
export function processStartSeconds(): number {
  return Math.floor(performance.timeOrigin / 1000)
}
