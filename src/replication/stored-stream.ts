import type { Frame, Hash } from '../protocol/index.ts'

/** A stream as a store has it at one moment, for sending it to other nodes and for comparing it with their heads. */
export interface StoredStream {
  /** Number of events, including pruned ones. */
  readonly count: number
  /** Number of pruned events, from the start. */
  readonly pruned: number
  /** The count up to which it is served, if it is frozen. */
  readonly frozen: number | undefined
  /** The hash that its chain starts from. */
  readonly genesis: Hash
  /** The signed head of the first checkpoint after an offset. */
  checkpointAfter(offset: number): Uint8Array | undefined
  /** The signed head of the last checkpoint with at most `count` events. */
  checkpointUpTo(count: number): Uint8Array | undefined
  /** The frames in a range of offsets, in order and on demand, from the one that contains `from`. */
  frames(from: number, to: number): Iterable<Frame>
}
