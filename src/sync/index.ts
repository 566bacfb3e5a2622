export {
  type BlockCloseReason,
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
export type { Claim } from './claim.ts'
export type { Effect, ReadResult, StoreEffect } from './effects.ts'
export { spreadPoints } from './fork-searches.ts'
export type { TableRow } from './head-table.ts'
export {
  type ChainPoint,
  type CloseReason,
  closeCodes,
  type HeadEntry,
  type Message,
  type NothingReason,
  nothingCodes,
  type Ping,
  type Records,
  type RecordsMessage,
} from './messages.ts'
export type { ApplyOutcome, StoreOutcome } from './outcomes.ts'
export { Sync } from './sync.ts'
export type { SyncOptions, SyncTimes } from './sync-state.ts'
