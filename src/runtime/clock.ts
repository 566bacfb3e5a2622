import { performance } from 'node:perf_hooks'

/** Two clocks: the wall clock, which people and time servers can set, and a steady one, which only rises. */
export interface Clock {
  /** Wall time in microseconds since the Unix epoch. */
  readonly now: () => number
  /** Milliseconds, with fractions, since some moment in the past: for durations and deadlines. */
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
