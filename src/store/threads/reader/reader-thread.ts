import { systemRuntime } from '../../../runtime/system-runtime.ts'
import { makeReadJob } from '../../jobs/read-job.ts'
import { runReader } from './reader-host.ts'

runReader({ makers: { read: makeReadJob } }, systemRuntime)
