import { makeReadJob } from '../../jobs/read-job.ts'
import { runReader } from './reader-host.ts'

runReader({ makers: { read: makeReadJob } })
