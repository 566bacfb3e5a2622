import { makeReadJob } from '../../store/threads/read-job.ts'
import { runReader } from '../../store/threads/reader-host.ts'
import { makeMonotonicJob } from './monotonic-job.ts'
import { makeQueryJob } from './query-job.ts'
import { samplesOf } from './samples.ts'
import { makeSubscribeJob } from './subscribe-job.ts'
import { makeValidateJob } from './validate-job.ts'

runReader(
  {
    read: makeReadJob,
    query: makeQueryJob,
    subscribe: makeSubscribeJob,
    subscribe_monotonic: makeMonotonicJob,
    validate: makeValidateJob,
  },
  samplesOf,
)
