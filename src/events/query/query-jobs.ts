import { type JobSet, makeReadJob } from '../../store/reading/index.ts'
import { makeMonotonicJob } from './monotonic-job.ts'
import { makeQueryJob } from './query-job.ts'
import { appOf, requestBytes } from './query-requests.ts'
import { makeSubscribeJob } from './subscribe-job.ts'
import { makeValidateJob } from './validate-job.ts'

/** All jobs that a store runs for the events of a topic. */
export const queryJobs: JobSet = {
  makers: {
    read: makeReadJob,
    query: makeQueryJob,
    subscribe: makeSubscribeJob,
    subscribe_monotonic: makeMonotonicJob,
    validate: makeValidateJob,
  },
  appOf,
  costOf: requestBytes,
}
