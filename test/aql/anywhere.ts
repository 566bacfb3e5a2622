import type { MainQuery } from '../../src/aql/index.ts'
import { QueryRules } from '../../src/aql/text/queries.ts'
import { Reader } from '../../src/aql/text/text-reader.ts'

/** Reads a query whose aggregators and current values may be anywhere, also where it could not be run. */
export function readAnywhere(text: string): MainQuery {
  const reader = new Reader(text)
  const query = new QueryRules(reader, 0n).mainQuery()
  if (query === undefined) throw reader.syntaxError()
  return query
}
