import { threadModule } from '../../thread-module.ts'

/** The module for the thread that reads: it knows what queries are. */
export const readerModule = threadModule('query-thread', import.meta.url)

export type { QueryRequest, SubscribeRequest } from './requests.ts'
export type { ValidateRequest } from './validate-job.ts'
