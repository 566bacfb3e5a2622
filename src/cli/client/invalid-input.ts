import { ShoalError } from '../../base/errors.ts'

/** Maps the error codes with which a node refuses a query or an event to `ERR_INVALID_INPUT`. */
export async function asInvalidInput<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    const isInput = error instanceof ShoalError && inputCodes.has(error.code)
    throw isInput ? new ShoalError('ERR_INVALID_INPUT', error.message) : error
  }
}

const inputCodes: ReadonlySet<string> = new Set(['ERR_BAD_REQUEST', 'ERR_UNSUPPORTED_FEATURE', 'ERR_PAYLOAD_TOO_LARGE'])
