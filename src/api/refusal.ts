import { damageOf, type ErrorCode, errorTable, failure, ShoalError } from '../base/errors.ts'

/** Why a request was refused, for the log. */
export interface Refusal {
  readonly status: number
  readonly code: ErrorCode | 'CORS'
  /** What was wrong with this request, if that quotes neither tokens nor contents of requests. */
  readonly cause?: string | undefined
}

/** The refusal of a request that failed. */
export function refusalOf(thrown: unknown): Refusal {
  const error = thrown instanceof ShoalError ? thrown : (damageOf(thrown) ?? failure('ERR_INTERNAL', {}))
  const { code, status, message, isLoggable } = error
  // A message without details says what the code says.
  if (!isLoggable || message === errorTable[code].text) return { status, code }
  return { status, code, cause: message.replace(/^Invalid request\. /, '') }
}
