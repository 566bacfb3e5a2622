import { checkFeatures, type MainQuery } from '../../aql/index.ts'
import { ShoalError } from '../../base/errors.ts'
import { endingError } from '../client/ending-error.ts'
import { readSource } from '../input.ts'
import { write } from '../output/output.ts'
import { parsed } from './aql.ts'

/** The value of `appId(me)` without a token: the default app ID of events in files. */
export const localApp = 'com.actyx.test'

/** A query that passed validation: its text and its syntax tree. */
export interface ValidQuery {
  readonly text: string
  readonly query: MainQuery
}

export function readValidQuery(argument: string): ValidQuery {
  const text = argument === '-' ? readSource('-') : argument
  const query = parsed(text)
  const problem = checkFeatures(query, 'query')
  if (problem !== undefined) throw new ShoalError('ERR_INVALID_INPUT', problem.message)
  return { text, query }
}

/**
 * Streams results to stdout with backpressure. Returns whether they are complete: the last line has the offsets. Throws
 * the error in the last line.
 */
export async function writeResults(chunks: Iterable<string>): Promise<boolean> {
  let last = ''
  for (const lines of chunks) {
    const start = lines.lastIndexOf('\n', lines.length - 2) + 1
    last = lines.slice(start)
    const failed = endingError(last)
    const results = failed === undefined ? lines : lines.slice(0, start)
    if (results !== '') await write(process.stdout, results)
    if (failed !== undefined) throw failed
  }
  return last.startsWith('{"type":"offsets"')
}
