import type { StreamKey } from '../../protocol/index.ts'
import type {
  AppliedEvidence,
  GivenChunk,
  Imported,
  ImportRequest,
  PruneResult,
  Received,
  ReceivedTogether,
  ReceiveOptions,
  RedactionResult,
} from '../../replication/index.ts'
import type { Appended, AppendRequest } from './append.ts'
import type { Serving } from './serving.ts'
import type { StreamRecords } from './stream-records.ts'
import type { StreamNumber, StreamStatus } from './streams.ts'

/**
 * The event log of a topic: own events are appended, chunks of other nodes are received, chunks are read for other
 * nodes. Changes are durable when the promise resolves. A failed change is not acknowledged and changes nothing, except
 * after an I/O error during the commit, when it may still be on disk.
 */
export interface EventLog extends Serving {
  /** Appends events to own streams: the whole request or nothing. The caller may reuse its memory when this returns. */
  append(request: AppendRequest): Promise<Appended>
  /** Adds events of a dump to an imported topic: the whole request or nothing, but no event that was imported before. */
  import(request: ImportRequest): Promise<Imported>
  /**
   * Verifies and stores a chunk of a stream of another node. One that is out of order needs the head before it. A new
   * stream has to be within the budgets of streams. Chunks of own streams are refused, except after a doubtful start, see
   * `OwnHistory`.
   */
  receive(chunk: Uint8Array, options?: ReceiveOptions): Promise<Received>
  /**
   * The same for several chunks, which cost fewer commits together. Each gets an answer of its own, in their order. It
   * resolves later while sealing is behind, and rejects when too many chunks wait already: to be tried again later.
   */
  receiveAll(chunks: readonly GivenChunk[], options?: Pick<ReceiveOptions, 'from'>): Promise<ReceivedTogether>
  /**
   * Prunes an own stream up to the end of a frame. If there is no checkpoint, it becomes one, and its chunk starts there.
   * Returns the signed prune record.
   */
  prune(stream: number, count: number): Promise<Uint8Array>
  /**
   * Applies the prune record of another node. The head of its checkpoint is needed unless the checkpoint is stored here;
   * a stream that is behind it continues from there. A record of an own stream removes nothing, see `prune`.
   */
  applyPrune(record: Uint8Array, head?: Uint8Array, options?: ReceiveOptions): Promise<PruneResult>
  /** Redacts events of an own stream, at once. Returns the signed redaction record. */
  redact(stream: number, offsets: readonly number[]): Promise<Uint8Array>
  /** Applies the redaction record of another node. A record of an own stream removes nothing, see `redact`. */
  applyRedaction(record: Uint8Array, options?: ReceiveOptions): Promise<RedactionResult>
  /** The same for several records: together they cost little more than one. */
  applyRedactions(records: readonly Uint8Array[], options?: ReceiveOptions): Promise<RedactionResult[]>
  /** The evidence that the node of a stream has forked it; undefined when the stream is not frozen. */
  evidence(stream: StreamNumber): Promise<Uint8Array | undefined>
  /** Verifies the evidence of a fork from another node, and freezes the stream, which may be an own one. */
  applyEvidence(record: Uint8Array, options?: ReceiveOptions): Promise<AppliedEvidence>
  /**
   * Removes all data of a stream of another node, and returns its part of the budget of streams. It may be received
   * again. Returns whether it was known. Its number in this store is not reused before the next start.
   */
  forgetStream(key: StreamKey): Promise<boolean>
  /** All known streams, including all changes that were acknowledged before. */
  streams(): Promise<StreamStatus[]>
  /** The signed head of a stream: the current one of an own stream, the newest received one of another. */
  head(stream: StreamNumber): Promise<Uint8Array | undefined>
  /** The prune record of a stream, and the redaction records of a range of its offsets; `to` is exclusive. */
  records(stream: StreamNumber, from?: number, to?: number): Promise<StreamRecords>
  /**
   * Calls the listener after one or more commits that may have added events. Returns the unsubscribe function. For
   * replication: subscriptions are woken by the writer's wake-up filter.
   */
  onCommit(listener: () => void): () => void
}
