import { makeSubscribeJob } from '../../src/events/query/subscribe-job.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { JobMaker } from '../../src/store/jobs/job.ts'
import { makeReadJob } from '../../src/store/jobs/read-job.ts'
import type { LogReader } from '../../src/store/sqlite/index.ts'
import { runReader } from '../../src/store/threads/reader/reader-host.ts'

/** Ends the thread, like running out of memory. */
const end: JobMaker = () => process.exit(1)

const noOutput = { begin: () => {}, isFull: false, take: () => new Uint8Array() }

/** Never yields. */
const hang: JobMaker = () => ({
  run: () => {
    for (;;);
  },
  ...noOutput,
})

/** Fails like SQLite on a read error of the disk. */
const refuse: JobMaker = () => ({
  run: () => {
    throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 })
  },
  ...noOutput,
})

/** Ends with an error that says whether the first block of the log is cached. */
const cached: JobMaker = (reader) => ({
  run: () => {
    const log = reader as LogReader
    const block = log.block(0, 0)
    throw new Error(log.block(0, 0) === block ? 'cached' : 'not cached')
  },
  ...noOutput,
})

runReader({ makers: { read: makeReadJob, subscribe: makeSubscribeJob, end, hang, refuse, cached } }, systemRuntime)
