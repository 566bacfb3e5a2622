import { makeReadJob } from '../../store/threads/read-job.ts'
import { runReader } from '../../store/threads/reader-host.ts'
import { makeMonotonicJob } from './monotonic-job.ts'
import { makeQueryJob } from './query-job.ts'
import type { QueryRequest, SubscribeRequest } from './requests.ts'
import { makeSubscribeJob } from './subscribe-job.ts'
import { makeValidateJob } from './validate-job.ts'

const request = { appId: 'com.example.sample', via: 'node', lowerBound: {}, upperBound: undefined } as const
const copied: QueryRequest = { ...request, query: 'FROM allEvents', order: 'asc' }
const evaluated: QueryRequest = { ...request, query: 'FROM allEvents FILTER _.value > 0 SELECT _.value', order: 'desc' }
const followed: SubscribeRequest = { ...request, query: 'FROM allEvents' }

runReader(
  {
    read: makeReadJob,
    query: makeQueryJob,
    subscribe: makeSubscribeJob,
    subscribe_monotonic: makeMonotonicJob,
    validate: makeValidateJob,
  },
  [
    { name: 'query', request: copied },
    { name: 'query', request: evaluated },
    { name: 'subscribe', request: followed },
  ],
)
