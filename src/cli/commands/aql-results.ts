import { checkFeatures, type MainQuery } from '../../aql/index.ts'
import { ShoalError } from '../../base/errors.ts'
import { readSource } from '../input.ts'
import { write } from '../output.ts'
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

/** Streams results to stdout with backpressure. Returns whether they are complete: the last line has the offsets. */
export async function writeResults(chunks: Iterable<string>): Promise<boolean> {
  let last = ''
  for (const lines of chunks) {
    last = lines
    await write(process.stdout, lines)
  }
  return last.slice(last.lastIndexOf('\n', last.length - 2) + 1).startsWith('{"type":"offsets"')
}
