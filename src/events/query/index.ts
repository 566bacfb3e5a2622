import { threadModule } from '../../runtime/thread-module.ts'

/** The module of the reader threads, with the jobs for queries and subscriptions. */
export const readerModule = threadModule('query-thread', import.meta.url)

export type { QueryRequest, SubscribeRequest } from './query-requests.ts'
export type { ValidateRequest } from './validate-job.ts'
