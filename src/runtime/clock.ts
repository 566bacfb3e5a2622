import { performance } from 'node:perf_hooks'

let origin = performance.timeOrigin

/** Microseconds since the Unix epoch. Follows the wall clock, with the digits that `Date.now()` lacks. */
export function nowMicros(): number {
  const wall = Date.now()
  let now = origin + performance.now()
  if (Math.abs(now - wall) > 2) {
    origin = wall - performance.now()
    now = wall
  }
  return Math.floor(now * 1000)
}

/** Two clocks, in microseconds: one that people and servers can set, and one that only goes on. */
export interface Clock {
  readonly now: () => number
  readonly steady: () => number
}

export const systemClock: Clock = { now: nowMicros, steady: () => performance.now() * 1000 }
