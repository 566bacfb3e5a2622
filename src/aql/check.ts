import type { Expr, Query } from './ast.ts'
import type { Pace, Steps } from './steps.ts'
import { childrenOf, isLeaf, sourceChildren, stageChildren } from './walk.ts'

/** What an expression may contain, depending on its clause. */
interface Context {
  readonly aggregators: boolean
  /** Whether the current value, `_`, is in scope. */
  readonly current: boolean
}

/** An expression that is not allowed in its clause. */
export interface Misplaced {
  readonly part: Expr
  readonly detail: string
}

const ordinaryContext: Context = { aggregators: false, current: true }
const aggregateContext: Context = { aggregators: true, current: false }

/** The first misplaced expression of a query, in source order. */
export function* misplaced(query: Query, pace: Pace): Steps<Misplaced | undefined> {
  // An explicit stack of sibling lists instead of recursion, so that it can yield at any depth.
  const stack: Siblings[] = []
  addQuery(stack, query, ordinaryContext)
  for (let list = stack.at(-1); list !== undefined; list = stack.at(-1)) {
    const expr = list.exprs[list.next++]
    if (pace.isDue()) yield
    if (expr === undefined) stack.pop()
    else if (expr.kind === 'query') addQuery(stack, expr.query, list.context)
    else if (expr.kind === 'aggregator') {
      if (!list.context.aggregators) return { part: expr, detail: 'aggregators are only valid in AGGREGATE clauses' }
      stack.push({ exprs: [expr.argument], next: 0, context: ordinaryContext })
    } else if (!list.context.current && isCurrent(expr))
      return { part: expr, detail: 'current value _ not available in AGGREGATE clauses' }
    else if (!isLeaf(expr)) stack.push({ exprs: childrenOf(expr), next: 0, context: list.context })
  }
  return undefined
}

interface Siblings {
  readonly exprs: readonly Expr[]
  next: number
  readonly context: Context
}

function addQuery(stack: Siblings[], { source, stages }: Query, outer: Context): void {
  for (const stage of stages.toReversed())
    stack.push({
      exprs: stageChildren(stage),
      next: 0,
      context: stage.kind === 'aggregate' ? aggregateContext : ordinaryContext,
    })
  // Tag templates are evaluated per current value of the outer query. The items of an array source belong to the outer
  // expression itself.
  const context = source.kind === 'array' ? { aggregators: false, current: outer.current } : ordinaryContext
  stack.push({ exprs: sourceChildren(source), next: 0, context })
}

function isCurrent(expr: Expr): boolean {
  return (expr.kind === 'variable' && expr.name === '_') || (expr.kind === 'meta' && expr.variable === '_')
}
