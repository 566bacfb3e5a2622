import type { Hash, StreamKey } from '../../protocol/index.ts'
import type { AppendedFrames, HeadPlace, StreamHead } from '../../replication/index.ts'
import type { Checkpoint, StreamNumber, StreamStatus } from './streams.ts'

/** What replication reads of a store to send it to other nodes, and to compare it with theirs. */
export interface Serving {
  /**
   * The chunk from any frame border to the next checkpoint, or without one to the newest head. Undefined when there are
   * no events, or when it is larger than `maxBytes`: a part of a chunk could not be verified.
   */
  chunk(stream: StreamNumber, from: number, maxBytes?: number): Promise<Uint8Array | undefined>
  /** Consecutive chunks from any frame border up to a size in total, but at least one if there are events. */
  chunks(stream: StreamNumber, from: number, maxBytes: number): Promise<Uint8Array[]>
  /** The chain hash after `count` events; undefined when no frame ends there, `pruned` when it is not kept. */
  hashAt(stream: StreamNumber, count: number): Promise<Hash | 'pruned' | undefined>
  /** The next checkpoints after a number of events, at most `most`. */
  checkpointsAfter(stream: StreamNumber, count: number, most: number): Promise<Checkpoint[]>
  /** Verifies the signed head of a stream, and says whether it lies on the stored chain. */
  contains(head: Uint8Array): Promise<HeadPlace>
  /**
   * The head table: all streams that have a head or are frozen, by their numbers. The head of an own stream is signed
   * once per change.
   */
  heads(): Promise<StreamHead[]>
  /** The row of a stream in the head table. */
  headOf(key: StreamKey): Promise<StreamHead | undefined>
  /** The stream with a key. */
  streamOf(key: StreamKey): Promise<StreamStatus | undefined>
  /**
   * Calls the listener after commits of own events, with their frames as they were committed and signed heads. Returns
   * the unsubscribe function. Frames beyond `limits.unreadFrameBytes` are left out.
   */
  onAppended(listener: (appended: readonly AppendedFrames[]) => void): () => void
}
