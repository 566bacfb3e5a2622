export { type Blob, type BlobEntry, BlobStore } from './blobs.ts'
export {
  type BlockStats,
  BlockStore,
  type BlocksReport,
  type BlockUsage,
  backupBlocks,
  blockStats,
  type CacheLimits,
  openBlocks,
  type Place,
  Registers,
  Slots,
  verifyBlocks,
} from './blocks/index.ts'
export { copyDatabase } from './copy-database.ts'
export { DataFolder } from './data-folder.ts'
export type { EventStore, Reading, StreamStatus } from './event-store.ts'
export {
  type Appended,
  type AppendRequest,
  backupLog,
  type ChunkSize,
  type LogStats,
  logStats,
  type Run,
  readStopped,
  type Selection,
  type VerifyReport,
  verifyLog,
} from './log/index.ts'
export { NodeDatabase } from './node-database.ts'
export { answerCalls, CalledThread } from './threads/calls.ts'
export { SqliteEventStore } from './threads/sqlite-event-store.ts'
export { ThreadedBlobs } from './threads/threaded-blobs.ts'
export {
  blobFile,
  blobsBeside,
  blockFile,
  blocksBeside,
  slotsFile,
  topicFile,
  topicFiles,
  topicsFolder,
} from './topic-files.ts'
