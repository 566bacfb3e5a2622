import type { Expr, Query } from './ast.ts'
import { partsOf, sourceParts, stageParts } from './walk.ts'

/** What may stand somewhere. */
interface Place {
  readonly aggregators: boolean
  /** The current value, `_`. */
  readonly current: boolean
}

/** Something that is at the wrong place. */
export interface Misplaced {
  readonly part: Expr
  readonly detail: string
}

const ordinary: Place = { aggregators: false, current: true }
const frame: Place = { aggregators: true, current: false }

/** The first part of a query, in the order of its text, that is at the wrong place. */
export function misplaced(query: Query, around: Place = ordinary): Misplaced | undefined {
  // Tags are computed for the current value of the query around this one; the items of an array are a part of it.
  const source = query.source.kind === 'array' ? { aggregators: false, current: around.current } : ordinary
  for (const part of sourceParts(query.source)) {
    const found = misplacedIn(part, source)
    if (found !== undefined) return found
  }
  for (const stage of query.stages) {
    const place = stage.kind === 'aggregate' ? frame : ordinary
    for (const part of stageParts(stage)) {
      const found = misplacedIn(part, place)
      if (found !== undefined) return found
    }
  }
  return undefined
}

function misplacedIn(expr: Expr, place: Place): Misplaced | undefined {
  if (expr.kind === 'query') return misplaced(expr.query, place)
  if (expr.kind === 'aggregator') {
    if (place.aggregators) return misplacedIn(expr.argument, ordinary)
    return { part: expr, detail: 'aggregators are only valid in AGGREGATE clauses' }
  }
  if (!place.current && isCurrent(expr)) {
    return { part: expr, detail: 'current value _ not available in AGGREGATE clauses' }
  }
  for (const part of partsOf(expr)) {
    const found = misplacedIn(part, place)
    if (found !== undefined) return found
  }
  return undefined
}

function isCurrent(expr: Expr): boolean {
  return (expr.kind === 'variable' && expr.name === '_') || (expr.kind === 'meta' && expr.variable === '_')
}
