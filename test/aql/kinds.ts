import type { MainQuery } from '../../src/aql/index.ts'
import { exprsIn, tagAtoms } from '../../src/aql/walk.ts'

/** Number of kinds of expressions, tag atoms, stages and sources. */
export const numberOfKinds = 19 + 7 + 5 + 2

/** The kinds of all AST nodes of a query. */
export function kindsIn(query: MainQuery): readonly string[] {
  const all = [...exprsIn(query)]
  const nested = [query, ...all.flatMap((expr) => (expr.kind === 'query' ? [expr.query] : []))]
  const atoms = nested.flatMap(({ source }) => (source.kind === 'events' ? tagAtoms(source.tags) : []))
  return [
    ...all.map(({ kind }) => `expr ${kind}`),
    ...atoms.map(({ kind }) => `tag ${kind}`),
    ...nested.flatMap(({ stages }) => stages.map(({ kind }) => `stage ${kind}`)),
    ...nested.map(({ source }) => `source ${source.kind}`),
  ]
}
