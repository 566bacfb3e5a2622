/** The module for the thread that reads: it knows what queries are. */
export const readerModule = new URL(`./reader-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

export type { QueryRequest, SubscribeRequest } from './requests.ts'
