export {
  type Block,
  LogCursor,
  LogReader,
  NdjsonWriter,
  type ReadStream,
  type Selection,
  type Snapshot,
  type StreamNumber,
} from '../sqlite/index.ts'
export { makeReadJob } from '../threads/reader/read-job.ts'
export { type Job, type JobMaker, type ReaderData, runReader } from '../threads/reader/reader-host.ts'
