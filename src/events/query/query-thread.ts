import { workerData } from 'node:worker_threads'
import { boundAllowances } from '../../aql/index.ts'
import { heapCost, MemoryAccount } from '../../client-memory.ts'
import { makeReadJob } from '../../store/threads/read-job.ts'
import { type ReaderData, runReader } from '../../store/threads/reader-host.ts'
import { makeMonotonicJob } from './monotonic-job.ts'
import { makeQueryJob } from './query-job.ts'
import { appOf, requestBytes } from './requests.ts'
import { makeSubscribeJob } from './subscribe-job.ts'
import { makeValidateJob } from './validate-job.ts'

const { clientMemory } = workerData as ReaderData
// One query takes no more than half of the account, where what it holds counts twice.
if (clientMemory !== undefined) boundAllowances(new MemoryAccount(clientMemory, 'reader').limitBytes / heapCost(2))

runReader(
  {
    read: makeReadJob,
    query: makeQueryJob,
    subscribe: makeSubscribeJob,
    subscribe_monotonic: makeMonotonicJob,
    validate: makeValidateJob,
  },
  { appOf, costOf: requestBytes },
)
