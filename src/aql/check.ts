import type { Expr, Query } from './ast.ts'
import type { Pace, Steps } from './steps.ts'
import { isLeaf, partsOf, sourceParts, stageParts } from './walk.ts'

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
export function* misplaced(query: Query, pace: Pace): Steps<Misplaced | undefined> {
  // No recursion, since it has to give way anywhere: lists of parts within each other, and how far each was looked at.
  const lists: Parts[] = []
  addQuery(lists, query, ordinary)
  for (let list = lists.at(-1); list !== undefined; list = lists.at(-1)) {
    const expr = list.parts[list.next++]
    if (pace.isDue()) yield
    if (expr === undefined) lists.pop()
    else if (expr.kind === 'query') addQuery(lists, expr.query, list.place)
    else if (expr.kind === 'aggregator') {
      if (!list.place.aggregators) return { part: expr, detail: 'aggregators are only valid in AGGREGATE clauses' }
      lists.push({ parts: [expr.argument], next: 0, place: ordinary })
    } else if (!list.place.current && isCurrent(expr))
      return { part: expr, detail: 'current value _ not available in AGGREGATE clauses' }
    else if (!isLeaf(expr)) lists.push({ parts: partsOf(expr), next: 0, place: list.place })
  }
  return undefined
}

interface Parts {
  readonly parts: readonly Expr[]
  next: number
  readonly place: Place
}

function addQuery(lists: Parts[], { source, stages }: Query, around: Place): void {
  for (const stage of stages.toReversed())
    lists.push({ parts: stageParts(stage), next: 0, place: stage.kind === 'aggregate' ? frame : ordinary })
  // Tags are computed for the current value of the query around this one; the items of an array are a part of it.
  const place = source.kind === 'array' ? { aggregators: false, current: around.current } : ordinary
  lists.push({ parts: sourceParts(source), next: 0, place })
}

function isCurrent(expr: Expr): boolean {
  return (expr.kind === 'variable' && expr.name === '_') || (expr.kind === 'meta' && expr.variable === '_')
}
