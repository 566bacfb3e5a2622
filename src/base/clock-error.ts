import { failure, type ShoalError } from './errors.ts'
import { isStorableTime } from './timestamps.ts'

/** The error for a write while the wall clock is outside the storable range. */
export function clockError(micros: number): ShoalError {
  const date = new Date(micros / 1000)
  return failure('ERR_CLOCK', { time: Number.isNaN(date.getTime()) ? String(micros) : date.toISOString() })
}

/** The health check of the wall clock: why this time cannot be stored, or undefined when it can. */
export function clockProblem(micros: number): string | undefined {
  return isStorableTime(micros) ? undefined : clockError(micros).message
}
