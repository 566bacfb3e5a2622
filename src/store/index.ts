export type { EventKey } from '../replication/index.ts'
export { type Blob, type BlobEntry, BlobStore } from './blobs/blobs.ts'
export {
  type BlockStats,
  BlockStore,
  type BlocksReport,
  backupBlocks,
  blockStats,
  DiskReserve,
  type DiskSpace,
  diskSpace,
  openBlocks,
  openCheckedBlocks,
  Registers,
  rewriteBlockVersion,
  Slots,
  TransferThrottle,
  verifyBlocks,
} from './blocks/index.ts'
export { type BackgroundNotice, BackgroundReporter, type BackgroundWork } from './disk/background.ts'
export { copyDatabase, finishCopy } from './disk/copy-database.ts'
export { CountFile } from './disk/count-file.ts'
export { refusalIn, storageError } from './disk/disk-io-error.ts'
export type { DiskNotice, DiskWork } from './disk/disk-notice.ts'
export { makeFolders } from './disk/make-folders.ts'
export { type DiskSync, diskSync } from './disk/sync.ts'
export { checkWal, type StoreDamage } from './disk/wal-check.ts'
export { backupTopics, copyIdentity, copyStoppedIdentity } from './folder/backup-folder.ts'
export { DataFolder } from './folder/data-folder.ts'
export type { FolderProgress, FolderStep } from './folder/folder-progress.ts'
export { folderStats, type TopicStats } from './folder/folder-stats.ts'
export { accessDenied, FolderLocked, type LockState, lockHolder, lockState } from './folder/lock.ts'
export { type NewIdentity, replaceIdentity } from './folder/new-identity.ts'
export { NodeDatabase } from './folder/node-database.ts'
export { acceptRestoredTopics } from './folder/restored-topics.ts'
export { settingsChecksum } from './folder/settings-log.ts'
export {
  blobFile,
  blobsBeside,
  blockFile,
  blocksBeside,
  slotsFile,
  topicFile,
  topicFiles,
  topicsFolder,
} from './folder/topic-files.ts'
export { deleteTopic, topicSizes } from './folder/topics.ts'
export { type TopicReport, type Verified, verifyFolder } from './folder/verify-folder.ts'
export type {
  Appended,
  AppendedFrames,
  AppendRequest,
  BlockNotice,
  Blocks,
  BlockUsage,
  CacheLimits,
  ChunkSize,
  EventLog,
  EventReader,
  EventStore,
  ExchangedBlocks,
  FetchedBlock,
  FrameTime,
  HeadPlace,
  OwnHistory,
  PinReason,
  Reading,
  Readings,
  Received,
  ReceivedBlock,
  RetentionQueries,
  Run,
  Selection,
  Serving,
  StartMarks,
  StreamHead,
  StreamStatus,
  WantedList,
  WantPlace,
} from './port/index.ts'
export {
  backupLog,
  DamagedData,
  type LogStats,
  logStats,
  openOfflineLog,
  type VerifyReport,
  verifyLog,
} from './sqlite/index.ts'
export { CalledThread, type DiskUse, type LinkTarget, serveCalls } from './threads/calls/calls.ts'
export { ThreadedBlobs } from './threads/calls/threaded-blobs.ts'
export { backUpInThread, type FolderJob, verifyInThread } from './threads/folder-job/run-folder-job.ts'
export type { LogLink } from './threads/link/log-link.ts'
export type { ThreadName, ThreadWatch } from './threads/spawn.ts'
export { type EventStoreOptions, SqliteEventStore } from './threads/sqlite-event-store.ts'
export { readStats } from './threads/stats/read-stats.ts'
