import type { Claim } from './claim.ts'
import { sent, type TableRow } from './head-table.ts'

/** What to ask a peer for next. */
export type Step =
  | { readonly want: 'events'; readonly from: number }
  | { readonly want: 'records'; readonly from: number; readonly to: number }
  | { readonly want: 'evidence' }
  /** A search for the fork between its chain and the own one. */
  | { readonly want: 'fork' }

/**
 * What to ask a peer for, given what it says that it has of a stream and what is here. Undefined when there is nothing,
 * or when the peer has to ask.
 * @param whose `own` for a stream of this node, which decides on removals and only lacks events that it has lost;
 * `theirs` for one of the peer
 */
export function nextStep(claim: Claim, row: TableRow | undefined, whose: 'own' | 'theirs' | 'other'): Step | undefined {
  if (row?.frozen === true) return undefined
  const { count, pruned } = row ?? { count: 0, pruned: 0 }
  if (claim.isFrozen) return whose === 'own' ? { want: 'evidence' } : stepOfFrozen(claim, count)
  if (whose === 'own') return eventsAfter(claim, count)
  // The prune record says where the stream starts now. Redactions of what is left come with it.
  if (claim.pruned > pruned && !claim.areRecordsFetched)
    return { want: 'records', from: Math.min(claim.pruned, count), to: count }
  if (claim.count > count) return eventsAfter(claim, count)
  if (row === undefined) return undefined
  if (claim.count < count) return whose === 'theirs' && claim.count > pruned ? { want: 'fork' } : undefined
  if (claim.hash !== row.hash) return { want: 'fork' }
  const records = sent(row.records).toString('latin1')
  if (claim.pruned !== pruned || claim.records === undefined || claim.records === records) return undefined
  return claim.areRecordsFetched ? undefined : { want: 'records', from: pruned, to: count }
}

/** Whether nothing can be asked of a peer for lack of its prune record, although it was asked for that. */
export function lacksPrune(claim: Claim, row: TableRow | undefined): boolean {
  const { count, pruned } = row ?? { count: 0, pruned: 0 }
  return !claim.isFrozen && claim.pruned > pruned && eventsAfter(claim, count) === undefined
}

function eventsAfter(claim: Claim, count: number): Step | undefined {
  return claim.count > count && claim.pruned <= count ? { want: 'events', from: count } : undefined
}

/** Of a forked stream the events before the fork come first: once it is frozen here, no events are accepted. */
function stepOfFrozen({ prefix }: Claim, count: number): Step {
  if (prefix === 'wanted') return { want: 'events', from: count }
  return prefix === 'pruned' ? { want: 'records', from: count, to: count } : { want: 'evidence' }
}
