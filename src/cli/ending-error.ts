import { ShoalError } from '../base/errors.ts'
import { parsedAnswer } from './answers.ts'
import { errorOf } from './api-client.ts'

/** The error in the last line of a stream of results; undefined for any other line. */
export function endingError(line: string): ShoalError | undefined {
  if (!line.startsWith('{"code":')) return undefined
  parsedAnswer(line, 'the node')
  const error = errorOf(line, undefined)
  // Of a query that runs, only its own failure is a bad request: all others are refused before the first line.
  if (error.code !== 'ERR_BAD_REQUEST') return error
  return new ShoalError('ERR_AQL_ERROR', error.message.replace(/^Invalid request\. /, ''))
}
