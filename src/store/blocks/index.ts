export { BlockStore, type BlockUsage, type CacheLimits } from './block-store.ts'
export { openBlocks } from './database.ts'
export { type Place, Registers } from './registers.ts'
export { Slots } from './slots.ts'
