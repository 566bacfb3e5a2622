/** The maximum storable time, in June 2255: times are stored with 53 bits. The minimum is 0, in 1970. */
export const latestMicros = Number.MAX_SAFE_INTEGER

/** Whether a time can be stored and signed. A node refuses to write anything with another time. */
export function isStorableTime(micros: number): boolean {
  return Number.isSafeInteger(micros) && micros >= 0
}

/** Clamps a time to the storable range. */
export function storableTime(micros: number): number {
  return Math.min(Math.max(micros, 0), latestMicros)
}

/** RFC 3339 in UTC with microseconds. */
export function rfc3339(micros: number): string {
  const millis = Math.floor(micros / 1000)
  const rest = String(micros - millis * 1000).padStart(3, '0')
  return `${new Date(millis).toISOString().slice(0, -1)}${rest}Z`
}
