/** What blocks that nothing holds may take up. */
export interface CacheLimits {
  readonly count: number
  readonly bytes: number
}

/** What blocks take up, in numbers and bytes. */
export interface BlockUsage {
  readonly blocks: number
  readonly bytes: number
  /** The part of it that nothing holds. */
  readonly cachedBlocks: number
  readonly cachedBytes: number
}

/**
 * Blocks of files by their content identifiers, and what holds them: a pin holds a block, and a block that is held
 * holds those it links to. A block can be known without being here: linked to or pinned and not yet come, or
 * evicted.
 */
export interface Blocks {
  /** The bytes of a block, if it is here. They are what the identifier says. */
  get(cid: Uint8Array): Uint8Array | undefined
  has(cid: Uint8Array): boolean
  /** Whether a block was here and had to go. */
  isEvicted(cid: Uint8Array): boolean
  /**
   * Stores a block, whose bytes have been made for or checked against its identifier, with what it links to. Answers
   * with the bytes that the database has to write for it.
   */
  put(cid: Uint8Array, bytes: Uint8Array, links: readonly Uint8Array[]): number
  /** Stores a block that an owner holds. */
  putPinned(owner: string, cid: Uint8Array, bytes: Uint8Array, links: readonly Uint8Array[]): number
  /** Holds a block, and all below it, for an owner; it need not be here yet. */
  pin(owner: string, cid: Uint8Array): void
  unpin(owner: string, cid: Uint8Array): void
  /** What an owner holds. */
  pinnedBy(owner: string): Uint8Array[]
  /** All owners whose names begin like this. */
  owners(prefix: string): string[]
  /** Gives up everything that an owner holds; what nobody else holds is gone at once. */
  discard(owner: string): void
  /**
   * Evicts blocks that nothing holds, those first that were not read for longest, until the rest is within its limits.
   * Does some of it, and answers whether there is more.
   */
  collect(cache: CacheLimits): boolean
  usage(): BlockUsage
}
