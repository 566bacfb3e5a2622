import type { MemoryHolder } from '../client-memory/account.ts'
import type { Received } from '../replication/index.ts'
import type { Appended, AppendRequest, ChunkSize, NewestTime, ReadStream, Selection } from './sqlite/index.ts'

/** Where a stream stands. */
export interface StreamStatus extends ReadStream {
  /** How many events there are, those that were pruned included: the last one has the offset `count - 1`. */
  readonly count: number
  /** How many events from the start are gone. */
  readonly pruned: number
}

/** Events as lines of JSON, in pieces that belong to whoever takes them; it ends when whoever reads ends it, or with the last event. */
export interface Reading extends AsyncIterable<Buffer> {
  /** Fulfilled once it is under way; what is wrong with the request is its failure. */
  readonly started: Promise<void>
  /** Fulfilled when it has ended, in whichever way. */
  readonly ended: Promise<void>
  /** Takes a piece back that nobody looks at any more, for its memory. Whoever keeps it has it collected as garbage. */
  giveBack(piece: Uint8Array): void
  /** Charges what waits to be taken to a holder; when that has no room, the reading fails. Without one nobody is charged. */
  chargeTo?(holder: MemoryHolder): void
  /** Ends it: nothing more is read for it. */
  cancel(): void
  /** Ends it, too; whoever takes from it gets what there is already, and then this error. */
  fail(error: Error): void
}

/**
 * The events of a topic: appended to, received from other nodes, read in order. Whatever a promise has been fulfilled for
 * is stored for good. A failure leaves everything as it was.
 */
export interface EventStore {
  /** Says that a request of about so many bytes is being made: whoever stores it gets ready meanwhile. It may not come after all. */
  expect(bytes: number): void
  /** Appends events to streams of this node: all of the request or nothing. Its memory is the caller's again when this returns. */
  append(request: AppendRequest): Promise<Appended>
  /**
   * The same for a request that is being made: the first part of it, and whoever makes the others, the last of which it
   * returns. A part is good until the next one is asked for. When making one fails, nothing is stored, and that is the failure.
   */
  appendParts(first: AppendRequest, rest: Iterator<AppendRequest, AppendRequest>): Promise<Appended>
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
  read(selection: Selection): Reading
  /** The signed head of a stream: of an own one as of now, of another one the newest that came. */
  head(stream: number): Promise<Uint8Array | undefined>
  /** The counts of the checkpoints of a stream, with their signed heads. */
  checkpoints(stream: number): Promise<{ count: number; head: Uint8Array }[]>
  /** The chunks of a stream that are there, in order, the one that is being written included. */
  chunkSizes(stream: number): Promise<ChunkSize[]>
  /** The newest time of the events from one offset up to another, or of those of them that are quick to read together. */
  newestTime(stream: number, from: number, to: number): Promise<NewestTime>
  /** The chunk that starts at a checkpoint, or at the start of the stream; nothing when there are no events after it. */
  chunk(stream: number, from: number): Promise<Uint8Array | undefined>
  close(): Promise<void>
}
