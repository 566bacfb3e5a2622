import type { StreamNumber } from './streams.ts'

/** Events that carry all of these tags, of this app; of streams of this node only, or of others only. */
export interface Branch {
  readonly tags: readonly string[]
  readonly appId?: string
  readonly own?: boolean
}

export type Order = 'asc' | 'desc' | 'stream-asc'

/** Which events to read, and in which order. */
export interface Selection {
  /** An event is selected when one of these holds for it. */
  readonly anyOf: readonly Branch[]
  readonly order: Order
  /** By stream, the offset after which to begin. */
  readonly lower?: ReadonlyMap<StreamNumber, number>
  /** By stream, the last offset to read. Streams that are not in it are left out. */
  readonly upper?: ReadonlyMap<StreamNumber, number>
  /** Lamport timestamps that all selected events are known to be in, both included. */
  readonly lamports?: { readonly from: number; readonly to: number }
}
