import type { MainQuery } from '../../src/aql/index.ts'
import { QueryRules } from '../../src/aql/text/queries.ts'
import { Reader } from '../../src/aql/text/text-reader.ts'

/** Parses a query without the static checks: aggregators and current values may occur anywhere. */
export function readAnywhere(text: string): MainQuery {
  const reader = new Reader(text)
  const query = new QueryRules(reader, 0n).mainQuery()
  if (query === undefined) throw reader.syntaxError()
  return query
}
