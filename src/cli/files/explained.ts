import { type ErrorCode, ShoalError } from '../../base/errors.ts'

/** The answer of a node. What its refusals mean for the person who has typed the command is said in these words. */
export async function explained<T>(answer: Promise<T>, words: Partial<Record<ErrorCode, string>>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    const text = words[error.code]
    throw text === undefined ? error : new ShoalError(error.code, text)
  }
}
