import { performance } from 'node:perf_hooks'

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

/** The wall clock, which people and NTP can set, and a monotonic clock; both in microseconds. */
export interface Clock {
  readonly now: () => number
  readonly steady: () => number
}

export const systemClock: Clock = { now: nowMicros, steady: () => performance.now() * 1000 }
