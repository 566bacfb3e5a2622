import type { Order, Query } from '../ast.ts'
import type { Plan } from '../plan/plan.ts'
import { madeOnce, planSteps } from '../plan/tag-plan.ts'
import { finish, Pace, type Steps } from '../steps.ts'
import { tagAtoms } from '../walk.ts'

/** A query that asks for events as they are. */
export interface PlainQuery {
  readonly plan: Plan
  readonly order: Order | undefined
}

/** What a query asks for, when that are events as they are: then there is nothing to evaluate. */
export function plainQuery(query: Query, appId: string): PlainQuery | undefined {
  return finish(plainSteps(query, appId))
}

/** The same in steps. */
export function* plainSteps({ source, stages }: Query, appId: string): Steps<PlainQuery | undefined> {
  if (source.kind !== 'events' || stages.length > 0) return undefined
  if (tagAtoms(source.tags).some(({ kind }) => kind === 'template')) return undefined
  const plan = yield* planSteps(source.tags, { appId, tagOf: () => '' }, madeOnce, new Pace())
  return { plan, order: source.order }
}
