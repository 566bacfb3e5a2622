import { makeReadJob } from './read-job.ts'
import { runReader } from './reader-host.ts'

runReader({ read: makeReadJob })
