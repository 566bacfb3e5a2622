import { checkFeatures, type MainQuery } from '../../aql/index.ts'
import { ShoalError } from '../../base/errors.ts'
import { readSource } from '../input.ts'
import { write } from '../output.ts'
import { parsed } from './aql.ts'

/** What `appId(me)` is, where nobody has a token: that of events which do not say whose they are. */
export const localApp = 'com.actyx.test'

/** A query that can be answered: its text, and what it says. */
export interface Answerable {
  readonly text: string
  readonly query: MainQuery
}

export function readAnswerable(argument: string): Answerable {
  const text = argument === '-' ? readSource('-') : argument
  const query = parsed(text)
  const problem = checkFeatures(query, 'query')
  if (problem !== undefined) throw new ShoalError('ERR_INVALID_INPUT', problem.message)
  return { text, query }
}

/** Writes the lines of an answer as they come: there may be more than fits into memory. Says whether it is complete. */
export async function answered(pieces: Iterable<string>): Promise<boolean> {
  let last = ''
  for (const lines of pieces) {
    last = lines
    await write(process.stdout, lines)
  }
  return last.slice(last.lastIndexOf('\n', last.length - 2) + 1).startsWith('{"type":"offsets"')
}
