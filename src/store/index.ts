export { type BackgroundNotice, BackgroundReporter, type BackgroundWork } from './background.ts'
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
  openSoundBlocks,
  type Place,
  Registers,
  rewriteBlockVersion,
  Slots,
  verifyBlocks,
} from './blocks/index.ts'
export { copyDatabase, finishCopy } from './copy-database.ts'
export { DataFolder } from './data-folder.ts'
export type { DiskNotice, DiskWork } from './disk-notice.ts'
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
export { refusalIn, storageError } from './log/sqlite-error.ts'
export { makeFolders } from './make-folders.ts'
export { NodeDatabase } from './node-database.ts'
export { NotedCount } from './noted-count.ts'
export { settingsChecksum } from './settings-log.ts'
export { type DiskSync, diskSync } from './sync.ts'
export { answerCalls, CalledThread, type DiskUse } from './threads/calls.ts'
export type { ThreadName, ThreadWatch } from './threads/spawn.ts'
export { type EventStoreOptions, SqliteEventStore } from './threads/sqlite-event-store.ts'
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
export { type TopicReport, verifyFolder } from './verify-folder.ts'
export { checkWal, type StoreDamage } from './wal-check.ts'
