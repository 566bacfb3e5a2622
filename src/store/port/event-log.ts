import type { Received } from '../../replication/index.ts'
import type { Appended, AppendRequest } from './append.ts'
import type { StreamNumber, StreamStatus } from './streams.ts'

/**
 * The log of a topic: appended to by this node, filled with chunks of other nodes, handed out in chunks. Whatever a
 * promise has been fulfilled for is stored for good. A failure leaves everything as it was.
 */
export interface EventLog {
  /**
   * Appends events to streams of this node: all of the request or nothing. Its memory is the caller's again when
   * this returns.
   */
  append(request: AppendRequest): Promise<Appended>
  /** Verifies and stores a chunk of a stream of another node. */
  receive(chunk: Uint8Array): Promise<Received>
  /** Removes events of an own stream up to a checkpoint, and answers with the record that tells other nodes. */
  prune(stream: number, count: number): Promise<Uint8Array>
  /** Follows the prune record of another node; whoever has less than it says starts at its checkpoint head. */
  applyPrune(record: Uint8Array, head?: Uint8Array): Promise<void>
  /** Removes a payload of an own stream, and answers with the record that tells other nodes. */
  redact(stream: number, offset: number): Promise<Uint8Array>
  applyRedaction(record: Uint8Array): Promise<void>
  /** All streams of which something is known; what was answered before is in it. */
  streams(): Promise<StreamStatus[]>
  /** The signed head of a stream: of an own one as of now, of another one the newest that came. */
  head(stream: StreamNumber): Promise<Uint8Array | undefined>
  /**
   * The chunk that starts at a checkpoint, or at the start of the stream; nothing when there are no events after it.
   */
  chunk(stream: StreamNumber, from: number): Promise<Uint8Array | undefined>
  /**
   * Calls a listener after commits in which streams may have grown; several commits may be one call. Answers how to
   * stop that.
   */
  onCommit(listener: () => void): () => void
}
