import { ShoalError } from '../../base/errors.ts'
import { errorOf } from './api-client.ts'
import { parseResponse } from './response-body.ts'

/** The error in the last line of a stream of results; undefined for any other line. */
export function endingError(line: string): ShoalError | undefined {
  if (!line.startsWith('{"code":')) return undefined
  parseResponse(line, 'the node')
  const error = errorOf(line, undefined)
  // Invalid queries are refused before the first line: within a stream, `ERR_BAD_REQUEST` is a failure of evaluation.
  if (error.code !== 'ERR_BAD_REQUEST') return error
  return new ShoalError('ERR_AQL_ERROR', error.message.replace(/^Invalid request\. /, ''))
}
