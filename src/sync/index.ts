export {
  type BlockEffect,
  BlockExchange,
  type BlockExchangeOptions,
  type BlockOutcome,
  blockCloseCodes,
  decodeExchangeMessage,
  type ExchangeMessage,
  encodeExchangeMessage,
  isExchangeMessage,
  type StoreBlock,
  type WantList,
} from './blocks/index.ts'
export type { Effect } from './effects.ts'
export { closeCodes, decodeMessage, encodeMessage, type Message } from './messages.ts'
export { type StoreOutcome, Sync, type SyncOptions } from './sync.ts'
