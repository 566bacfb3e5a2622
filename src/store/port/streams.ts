import type { StreamKey } from '../../protocol/index.ts'

/** The number that a stream has within one store: 0, 1, 2, … in the order in which they came. */
export type StreamNumber = number

/** A stream as a reader knows it. */
export interface ReadStream {
  readonly number: StreamNumber
  readonly key: StreamKey
  readonly own: boolean
}

/** Where a stream stands. */
export interface StreamStatus extends ReadStream {
  /** How many events there are, those that were pruned included: the last one has the offset `count - 1`. */
  readonly count: number
  /** How many events from the start are gone. */
  readonly pruned: number
}

/** A place in a stream where a chunk ends, with its signed head. */
export interface Checkpoint {
  readonly count: number
  readonly head: Uint8Array
}

/** What a chunk takes up in the store. */
export interface ChunkSize {
  /** The offsets of its events are from the first to before the end. */
  readonly first: number
  readonly end: number
  /** Bytes of its events as they are stored: compressed, without the index. */
  readonly bytes: number
  /** Whether it ends with a checkpoint; the one that is being written does not. */
  readonly complete: boolean
}

/** How new the newest of some events is. */
export interface NewestTime {
  /** From this offset on they were looked at. */
  readonly first: number
  /** Microseconds since 1970. */
  readonly time: number
}
