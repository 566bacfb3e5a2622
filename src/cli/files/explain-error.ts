import { type ErrorCode, ShoalError } from '../../base/errors.ts'

/** Replaces the message of an API error with one that explains it in terms of the command. */
export async function explainError<T>(response: Promise<T>, messages: Partial<Record<ErrorCode, string>>): Promise<T> {
  try {
    return await response
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    const text = messages[error.code]
    throw text === undefined ? error : new ShoalError(error.code, text)
  }
}
