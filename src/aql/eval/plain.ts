import type { Order, Query } from '../ast.ts'
import type { Plan } from '../plan/plan.ts'
import { limitsPerQuery, planSteps } from '../plan/tag-plan.ts'
import { Pace, runToEnd, type Steps } from '../steps.ts'
import { tagAtoms } from '../walk.ts'

/** A query that returns unmodified events. */
export interface PlainQuery {
  readonly plan: Plan
  readonly order: Order | undefined
}

/** Recognises a query that returns unmodified events: it needs a plan, but no evaluation. */
export function plainQuery(query: Query, appId: string): PlainQuery | undefined {
  return runToEnd(plainSteps(query, appId))
}

/** Cooperative variant: yields between units of work. */
export function* plainSteps({ source, stages }: Query, appId: string): Steps<PlainQuery | undefined> {
  if (source.kind !== 'events' || stages.length > 0) return undefined
  if (tagAtoms(source.tags).some(({ kind }) => kind === 'template')) return undefined
  const plan = yield* planSteps(source.tags, { appId, tagOf: () => '' }, limitsPerQuery, new Pace())
  return { plan, order: source.order }
}
