import type { StreamKey } from '../../../protocol/index.ts'
import type { OwnHead } from '../../../replication/index.ts'
import type { ErrorMessage } from '../thread-messages.ts'
import type { Pieces } from './pieces.ts'

/** A message to a reader thread. */
export type ToReader =
  | { readonly type: 'start'; readonly id: number; readonly job: string; readonly request: unknown }
  /** Bytes that the consumer has taken: the job may send as many again. */
  | { readonly type: 'credit'; readonly id: number; readonly bytes: number }
  | { readonly type: 'cancel'; readonly id: number }
  /** The capacity of its caches. */
  | { readonly type: 'cacheBytes'; readonly bytes: number }
  | { readonly type: 'streams' | 'close'; readonly id: number }
  | { readonly type: 'headTable'; readonly id: number; readonly own: readonly OwnHead[] }
  | { readonly type: 'checkpoints' | 'chunkSizes'; readonly id: number; readonly stream: number }
  | {
      readonly type: 'newestTime' | 'redactedOffsets'
      readonly id: number
      readonly stream: number
      readonly from: number
      readonly to: number
    }
  | { readonly type: 'framesOfChunk'; readonly id: number; readonly stream: number; readonly from: number }
  | {
      readonly type: 'chunk'
      readonly id: number
      readonly stream: number
      readonly from: number
      readonly newest: Uint8Array | undefined
      readonly maxBytes: number | undefined
    }
  | {
      readonly type: 'chunks'
      readonly id: number
      readonly stream: number
      readonly from: number
      readonly newest: Uint8Array | undefined
      readonly maxBytes: number
    }
  | { readonly type: 'hashAt'; readonly id: number; readonly stream: number; readonly count: number }
  | {
      readonly type: 'checkpointsAfter'
      readonly id: number
      readonly stream: number
      readonly count: number
      readonly most: number
    }
  | { readonly type: 'streamOf'; readonly id: number; readonly key: StreamKey }
  | { readonly type: 'contains'; readonly id: number; readonly head: Uint8Array }

/** A message that is replied to with a result. */
export type ReaderCall = Exclude<ToReader, { type: 'start' | 'credit' | 'cancel' | 'cacheBytes' }>

/** A message of a reader thread. */
export type FromReader =
  | { readonly pieces: Pieces }
  | { readonly started: number }
  | { readonly id: number; readonly result: unknown }
  /** The index range of this event is damaged. */
  | { readonly damagedIndex: readonly [stream: number, offset: number] }
  | { readonly id: number; readonly error: ErrorMessage }

/** Whether a message must not wait for the slice of a long job: the signal is raised for it. */
export function isWork({ type }: ToReader): boolean {
  return type !== 'credit' && type !== 'cancel' && type !== 'cacheBytes'
}
