export type { BlockEffect, BlockOutcome, StoreBlock } from './block-effects.ts'
export { BlockExchange, type BlockExchangeOptions } from './block-exchange.ts'
export type { WantList } from './block-fetcher.ts'
export {
  type BlockCloseReason,
  blockCloseCodes,
  decodeExchangeMessage,
  type ExchangeMessage,
  encodeExchangeMessage,
  isExchangeMessage,
} from './block-messages.ts'
