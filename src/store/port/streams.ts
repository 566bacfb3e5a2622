import type { StreamKey } from '../../protocol/index.ts'

/** The number of a stream within one store: 0, 1, 2, … in order of creation. Not the number in its key. */
export type StreamNumber = number

/** A stream as a reader knows it. */
export interface ReadStream {
  readonly number: StreamNumber
  readonly key: StreamKey
  readonly own: boolean
  /** Whether no stream has this number: its stream was forgotten, or lost. Then the other fields mean nothing. */
  readonly isVacant?: boolean
}

/** The state of a stream. */
export interface StreamStatus extends ReadStream {
  /** Number of events, including pruned ones: the last offset is `count - 1`. */
  readonly count: number
  /** Number of pruned events, from the start. */
  readonly pruned: number
}

/** The end of a chunk, with its signed head. */
export interface Checkpoint {
  readonly count: number
  readonly head: Uint8Array
}

/** The stored size of a chunk. */
export interface ChunkSize {
  /** Its offsets: from `first` to before `end`. */
  readonly first: number
  readonly end: number
  /** Stored bytes of its events: compressed, without the index. */
  readonly bytes: number
  /** Whether it ends with a checkpoint. The last one may not. */
  readonly complete: boolean
}

/** A frame of a chunk. */
export interface FrameTime {
  /** The offset after its last event. */
  readonly end: number
  /** Its newest timestamp, in microseconds since 1970. */
  readonly time: number
}

/** The newest timestamp of a range of events. */
export interface NewestTime {
  /** The first offset of the range that was read. */
  readonly first: number
  /** Microseconds since 1970. */
  readonly time: number
}
