import { threadModule } from '../../runtime/thread-module.ts'

/** The module for the thread that reads: it knows what queries are. */
export const readerModule = threadModule('query-thread', import.meta.url)

export type { QueryRequest, SubscribeRequest } from './query-requests.ts'
export type { ValidateRequest } from './validate-job.ts'
