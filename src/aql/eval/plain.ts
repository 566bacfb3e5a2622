import type { Order, Query } from '../ast.ts'
import type { Plan } from '../plan/plan.ts'
import { planFor } from '../plan/tag-plan.ts'
import { tagAtoms } from '../walk.ts'

/** A query that asks for events as they are. */
export interface PlainQuery {
  readonly plan: Plan
  readonly order: Order | undefined
}

/** What a query asks for, when that are events as they are: then there is nothing to evaluate. */
export function plainQuery({ source, stages }: Query, appId: string): PlainQuery | undefined {
  if (source.kind !== 'events' || stages.length > 0) return undefined
  if (tagAtoms(source.tags).some(({ kind }) => kind === 'template')) return undefined
  return { plan: planFor(source.tags, { appId, tagOf: () => '' }), order: source.order }
}
