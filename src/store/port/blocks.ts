import type { BlockFetching } from './wanted-blocks.ts'

/** The size of the cache: blocks that nothing references. */
export interface CacheLimits {
  readonly count: number
  readonly bytes: number
}

/** The number and size of blocks. */
export interface BlockUsage {
  readonly blocks: number
  readonly bytes: number
  /** The unreferenced part. */
  readonly cachedBlocks: number
  readonly cachedBytes: number
}

/**
 * Blocks of files by CID, with reference counts: a block is referenced by pins, and by links of referenced blocks. A
 * block can be known without being stored: linked or pinned before it arrived, or evicted.
 */
export interface Blocks extends BlockFetching {
  /** Whether a block was stored and evicted, and has not been referenced since. */
  isEvicted(cid: Uint8Array): boolean
  /** Stores a block and its links. The CID must have been verified. Returns the bytes to write to the database. */
  put(cid: Uint8Array, bytes: Uint8Array, links: readonly Uint8Array[]): number
  /** Stores a block and pins it for an owner. */
  putPinned(owner: string, cid: Uint8Array, bytes: Uint8Array, links: readonly Uint8Array[]): number
  /** The blocks that an owner has pinned. */
  pinnedBy(owner: string): Uint8Array[]
  /** All owners of pins with this prefix. */
  owners(prefix: string): string[]
  /** Removes all pins of an owner. Pinned blocks that are no longer referenced are deleted immediately. */
  discard(owner: string): void
  /**
   * Evicts unreferenced blocks, least recently used first, until the rest is within the limits. Evicts one batch, and
   * returns whether there is more.
   */
  collect(cache: CacheLimits): boolean
  usage(): BlockUsage
}
