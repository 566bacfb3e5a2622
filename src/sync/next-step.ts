import { sent, type TableRow } from './head-table.ts'
import type { Claim } from './peer.ts'

/** What to ask a peer for next. */
export type Step =
  | { readonly want: 'events'; readonly from: number }
  | { readonly want: 'records'; readonly from: number; readonly to: number }
  | { readonly want: 'evidence' }
  /** Where its chain and the own one have parted. */
  | { readonly want: 'parting' }

/**
 * What to ask a peer for, given what it says that it has of a stream and what is here. Undefined when there is nothing,
 * or when the peer has to ask.
 * @param isComplete whether it is a stream of this node, which has all its events and decides on removals
 */
export function nextStep(claim: Claim, row: TableRow | undefined, isComplete: boolean): Step | undefined {
  if (row?.frozen === true) return undefined
  if (claim.isFrozen) return { want: 'evidence' }
  if (isComplete) return undefined
  const { count, pruned } = row ?? { count: 0, pruned: 0 }
  // The prune record says where the stream starts now.
  if (claim.pruned > pruned && !claim.areRecordsKnown) return { want: 'records', from: 0, to: 0 }
  if (claim.count > count) return claim.pruned > count ? undefined : { want: 'events', from: count }
  if (claim.count < count || row === undefined) return undefined
  if (claim.hash !== row.hash) return { want: 'parting' }
  const records = sent(row.records).toString('latin1')
  if (claim.pruned !== pruned || claim.records === undefined || claim.records === records) return undefined
  return claim.areRecordsKnown ? undefined : { want: 'records', from: pruned, to: count }
}
