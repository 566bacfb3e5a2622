export type { Effect } from './effects.ts'
export { type StreamHead, type StreamName, streamName } from './head-table.ts'
export { closeCodes, decodeMessage, encodeMessage, type Message } from './messages.ts'
export { type StoreOutcome, Sync, type SyncOptions } from './sync.ts'
