export type { Effect } from './effects.ts'
export { closeCodes, decodeMessage, encodeMessage, type Message } from './messages.ts'
export { type StoreOutcome, Sync, type SyncOptions } from './sync.ts'
