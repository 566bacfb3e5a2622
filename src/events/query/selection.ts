import type { Branch, Order, Plan } from '../../aql/index.ts'
import type { Selection } from '../../store/log/index.ts'
import type { Bounds } from './bounds.ts'

/** What the store has to read for a plan. Ranges of keys it knows by their lamport timestamps; the rest the plan looks at itself. */
export function selectionOf({ anyOf }: Plan, order: Order, { lower, upper }: Bounds): Selection {
  const lamports = lamportsOf(anyOf)
  return {
    anyOf: anyOf.map(({ tags, appId, own }) => ({ tags, ...(appId !== undefined && { appId }), ...(own && { own }) })),
    order,
    lower,
    ...(upper && { upper }),
    ...(lamports && { lamports }),
  }
}

/** The lamport timestamps outside of which no branch has events. */
function lamportsOf(branches: readonly Branch[]): { from: number; to: number } | undefined {
  if (branches.every(({ key }) => key === undefined)) return undefined
  return {
    from: Math.min(...branches.map(({ key }) => key?.lower?.place.lamport ?? 0)),
    to: Math.max(...branches.map(({ key }) => key?.upper?.place.lamport ?? Number.POSITIVE_INFINITY)),
  }
}
