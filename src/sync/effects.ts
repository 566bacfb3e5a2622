import type { StreamKey } from '../protocol/index.ts'
import type { CloseReason, Message } from './messages.ts'

/** What the host has to do. Peers are named by their public keys, as latin1. */
export type Effect =
  | { readonly do: 'send'; readonly to: string; readonly message: Message }
  | { readonly do: 'close'; readonly peer: string; readonly reason: CloseReason }
  /** Reads the chunk that continues a stream for a peer; `read` takes the result. */
  | {
      readonly do: 'read'
      readonly peer: string
      readonly id: number
      readonly stream: StreamKey
      readonly from: number
    }
  /** Gives a chunk to the store; `stored` takes the result. */
  | {
      readonly do: 'store'
      readonly from: string
      /** The request that it answers; undefined for a push. */
      readonly want: number | undefined
      readonly chunk: Uint8Array
    }
