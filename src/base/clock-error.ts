import { failure, type ShoalError } from './errors.ts'
import { isStorableTime } from './timestamps.ts'

/** What is thrown instead of storing something while the clock is wrong. */
export function clockError(micros: number): ShoalError {
  const date = new Date(micros / 1000)
  return failure('ERR_CLOCK', { time: Number.isNaN(date.getTime()) ? String(micros) : date.toISOString() })
}

/** Why nothing can be stored by a clock that shows this time; nothing when it can. */
export function clockProblem(micros: number): string | undefined {
  return isStorableTime(micros) ? undefined : clockError(micros).message
}
