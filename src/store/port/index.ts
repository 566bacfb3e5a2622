export type {
  AppendedFrames,
  AppliedEvidence,
  EventOrigin,
  GivenChunk,
  HeadPlace,
  Imported,
  ImportRequest,
  MalformedChunk,
  PruneResult,
  Received,
  ReceiveOptions,
  RedactionResult,
  StartMarks,
  StreamHead,
} from '../../replication/index.ts'
export type { Appended, AppendRequest, Run } from './append.ts'
export { addToRuns } from './append-runs.ts'
export type { Blocks, BlockUsage, CacheLimits } from './blocks.ts'
export type { EventBlock } from './event-block.ts'
export type { EventLog } from './event-log.ts'
export type { BlockEvent, EventCursor, EventReader, EventSink } from './event-reader.ts'
export type { EventStore } from './event-store.ts'
export type { OwnHistory } from './own-history.ts'
export type { Reading, Readings } from './reading.ts'
export { admitBlock, isDigestOf } from './received-block.ts'
export type { RetentionQueries } from './retention-queries.ts'
export type { Branch, Order, Selection, TimeRange } from './selection.ts'
export type { Serving } from './serving.ts'
export { Snapshot } from './snapshot.ts'
export { type RedactedOffset, recordsOf, type StreamRecords } from './stream-records.ts'
export { frameTime, joinChunks, newestTimeIn } from './stream-sizes.ts'
export type { Checkpoint, ChunkSize, FrameTime, NewestTime, ReadStream, StreamNumber, StreamStatus } from './streams.ts'
export {
  type BlockFetching,
  type BlockNotice,
  compareRanks,
  type ExchangedBlocks,
  type FetchedBlock,
  lastRank,
  type PinReason,
  type ReceivedBlock,
  rankOf,
  type WantedBlock,
  type WantedList,
  type WantPlace,
  type WantRank,
} from './wanted-blocks.ts'
