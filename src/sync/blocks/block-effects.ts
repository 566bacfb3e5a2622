import type { BlockCloseReason, ExchangeMessage } from './block-messages.ts'

/** A received block that the host has to store. */
export interface StoreBlock {
  readonly do: 'storeBlock'
  readonly from: string
  readonly cid: Uint8Array
  readonly bytes: Uint8Array
  /** Whether a download waits for it: then it is stored even if nothing references it. */
  readonly isAsked: boolean
}

/** What the host has to do for the exchange of blocks. Peers are named by their public keys, as latin1. */
export type BlockEffect =
  /** The host calls `sent` when a message with a block has left its send queue. */
  | { readonly do: 'send'; readonly to: string; readonly message: ExchangeMessage }
  | { readonly do: 'close'; readonly peer: string; readonly reason: BlockCloseReason }
  /** Lists wanted blocks, the first ones or those after the last list; `listed` takes the result. */
  | { readonly do: 'listWants'; readonly from: 'start' | 'next' }
  /** Reads a block for a peer; `read` takes the result. */
  | { readonly do: 'readBlock'; readonly peer: string; readonly cid: Uint8Array }
  /** Verifies and stores a block; `stored` takes the result. */
  | StoreBlock

/** The outcome of storing a received block. */
export type BlockOutcome =
  /** It is stored, now or since before. */
  | 'stored'
  /** It is correct, but nothing wants it any more. */
  | 'unwanted'
  /** The bytes do not belong to the CID. */
  | 'wrong'
  /** The reserve of free disk space is reached. */
  | 'noRoom'
  /** The store failed, which is not the fault of the peer. */
  | 'failed'
