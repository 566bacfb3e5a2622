export type { Reading } from '../store/index.ts'
export { Events, type EventsOptions, type Offsets } from './events.ts'
export type { OffsetMap } from './offsets.ts'
export { type QueryRequest, readerModule, type SubscribeRequest } from './query/index.ts'
