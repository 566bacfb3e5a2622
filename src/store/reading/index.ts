export type { Job, JobMaker, JobSet } from '../jobs/job.ts'
export { NdjsonWriter } from '../jobs/ndjson-writer.ts'
export { makeReadJob } from '../jobs/read-job.ts'
export type {
  EventBlock,
  EventCursor,
  EventReader,
  ReadStream,
  Selection,
  Snapshot,
  StreamNumber,
  TimeRange,
} from '../port/index.ts'
export { type ReaderData, runReader } from '../threads/reader/reader-host.ts'
