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

/** The last time that can be stored, in June 2255: numbers are stored with 53 bits. The first one is 0, in 1970. */
export const latestMicros = Number.MAX_SAFE_INTEGER

/** Whether a time can be stored and signed. What a node writes has such a time, or is not written. */
export function isStorableTime(micros: number): boolean {
  return Number.isSafeInteger(micros) && micros >= 0
}

/** The nearest time that can be stored. */
export function storableTime(micros: number): number {
  return Math.min(Math.max(micros, 0), latestMicros)
}

/** RFC 3339 in UTC with microseconds. */
export function rfc3339(micros: number): string {
  const millis = Math.floor(micros / 1000)
  const rest = String(micros - millis * 1000).padStart(3, '0')
  return `${new Date(millis).toISOString().slice(0, -1)}${rest}Z`
}
