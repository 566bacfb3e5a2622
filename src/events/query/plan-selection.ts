import type { Branch, Order, Plan } from '../../aql/index.ts'
import type { Selection, TimeRange } from '../../store/reading/index.ts'
import type { Bounds } from './bounds.ts'

type Selected = Pick<Selection, 'anyOf' | 'lamports' | 'times'>

/**
 * The selection for a plan. Key ranges become ranges of lamport timestamps. Together with times
 * they only narrow what is read: the residual predicate does the rest.
 */
export function selectionOf(plan: Plan, order: Order, { lower, upper }: Bounds): Selection {
  return { ...selectedBy(plan), order, lower, ...(upper && { upper }) }
}

/** Cache: a sub-query may open a cursor for the same plan with every event. */
const known = new WeakMap<Plan, Selected>()

function selectedBy(plan: Plan): Selected {
  const selected = known.get(plan) ?? newSelected(plan)
  known.set(plan, selected)
  return selected
}

function newSelected({ anyOf }: Plan): Selected {
  const lamports = lamportsOf(anyOf)
  const times = timesOf(anyOf)
  return {
    anyOf: anyOf.map(({ tags, appId, own }) => ({ tags, ...(appId !== undefined && { appId }), ...(own && { own }) })),
    ...(lamports && { lamports }),
    ...(times && { times }),
  }
}

/** The range of lamport timestamps that covers all branches. */
function lamportsOf(branches: readonly Branch[]): { from: number; to: number } | undefined {
  if (branches.every(({ key }) => key === undefined)) return undefined
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  for (const { key } of branches) {
    from = Math.min(from, key?.lower?.key.lamport ?? 0)
    to = Math.max(to, key?.upper?.key.lamport ?? Number.POSITIVE_INFINITY)
  }
  return { from, to }
}

/** The range of times that covers all branches. */
function timesOf(branches: readonly Branch[]): TimeRange | undefined {
  if (!branches.every(({ time }) => time !== undefined)) return undefined
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  for (const { time } of branches) {
    from = Math.min(from, time?.from ?? 0)
    to = Math.max(to, time?.to ?? Number.POSITIVE_INFINITY)
  }
  return { from, to }
}
