import { makeSubscribeJob } from '../../src/events/query/subscribe-job.ts'
import { makeReadJob } from '../../src/store/threads/read-job.ts'
import { type JobMaker, runReader } from '../../src/store/threads/reader-host.ts'

/** Ends the thread, as running out of memory does. */
const end: JobMaker = () => process.exit(1)

/** Never gives way. */
const hang: JobMaker = () => ({
  run: () => {
    for (;;);
  },
  take: () => new Uint8Array(),
})

runReader({ read: makeReadJob, subscribe: makeSubscribeJob, end, hang })
