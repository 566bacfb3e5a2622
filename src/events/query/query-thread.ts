import { workerData } from 'node:worker_threads'
import { boundAllowances } from '../../aql/index.ts'
import { heapCost, MemoryAccount } from '../../client-memory/account.ts'
import { makeReadJob, type ReaderData, runReader } from '../../store/reading/index.ts'
import { makeMonotonicJob } from './monotonic-job.ts'
import { makeQueryJob } from './query-job.ts'
import { appOf, requestBytes } from './query-requests.ts'
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
