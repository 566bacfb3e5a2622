import type { StreamNumber } from './streams.ts'

/** Matches events with all of these tags, of this app, and of own streams only or of other streams only. */
export interface Branch {
  readonly tags: readonly string[]
  readonly appId?: string
  readonly own?: boolean
}

export type Order = 'asc' | 'desc' | 'stream-asc'

/** Which events to read, and in which order. */
export interface Selection {
  /** An event is selected if it matches one of these. */
  readonly anyOf: readonly Branch[]
  readonly order: Order
  /** By stream: the exclusive lower bound. */
  readonly lower?: ReadonlyMap<StreamNumber, number>
  /** By stream: the inclusive upper bound. Streams without one are skipped. */
  readonly upper?: ReadonlyMap<StreamNumber, number>
  /** An inclusive range of lamport timestamps that contains all selected events. */
  readonly lamports?: { readonly from: number; readonly to: number }
  /** A range of times that contains all selected events. Other events may be returned, too. */
  readonly times?: TimeRange
}

/** Microseconds since 1970, from `from` to before `to`. */
export interface TimeRange {
  readonly from: number
  readonly to: number
}
