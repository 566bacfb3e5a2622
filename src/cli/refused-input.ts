import { ShoalError } from '../base/errors.ts'

/** A query or event that the node refuses is invalid input for a command. */
export async function refusedAsInput<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    const isInput = error instanceof ShoalError && inputCodes.has(error.code)
    throw isInput ? new ShoalError('ERR_INVALID_INPUT', error.message) : error
  }
}

const inputCodes: ReadonlySet<string> = new Set(['ERR_BAD_REQUEST', 'ERR_UNSUPPORTED_FEATURE', 'ERR_PAYLOAD_TOO_LARGE'])
