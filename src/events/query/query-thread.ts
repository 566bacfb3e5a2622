import { workerData } from 'node:worker_threads'
import { boundAllowances } from '../../aql/index.ts'
import { heapCost, MemoryAccount } from '../../client-memory/account.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import { type ReaderData, runReader } from '../../store/reading/index.ts'
import { queryJobs } from './query-jobs.ts'

const { clientMemory, index } = workerData as ReaderData
// One query may use half of the account. Bytes on the heap are charged twice, so that is a quarter of it in bytes.
if (clientMemory !== undefined)
  boundAllowances(new MemoryAccount(clientMemory, { reader: index }).limitBytes / heapCost(2))

runReader(queryJobs, systemRuntime)
