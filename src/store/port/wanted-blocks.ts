/** Why a block is pinned, which decides when it is fetched from other nodes if it is missing. */
export interface PinReason {
  readonly kind: 'name' | 'upload'
  /** The lamport timestamp of the event: newer content is fetched first. */
  readonly lamport: number
}

/** The rank of a missing block: the lower class is fetched first, and in a class the one that compares lower. */
export interface WantRank {
  readonly class: number
  readonly age: number
}

/** The place of a missing block in the list of wanted blocks. */
export interface WantPlace extends WantRank {
  /** The number of the block in its store: blocks of the same content are fetched in their order. */
  readonly block: number
}

/** A block that is referenced and not stored. */
export interface WantedBlock {
  readonly cid: Uint8Array
  readonly place: WantPlace
}

const classes = { name: 0, upload: 1 } as const satisfies Record<PinReason['kind'], number>

/** The rank of blocks that are pinned for another reason, such as a standing query. */
export const lastRank: WantRank = { class: 2, age: 0 }

export function rankOf(reason: PinReason | undefined): WantRank {
  return reason === undefined ? lastRank : { class: classes[reason.kind], age: 0 - reason.lamport }
}

export function compareRanks(a: WantRank, b: WantRank): number {
  return a.class - b.class || a.age - b.age
}

/** What became of a block from another node. */
export interface ReceivedBlock {
  /** `stored` now or before; `unwanted`: nothing references it; `wrong`: the bytes do not belong to the CID. */
  readonly outcome: 'stored' | 'unwanted' | 'wrong'
  /** Linked blocks that are wanted; at most `limits.wantsPerList` of them. */
  readonly newWants: readonly Uint8Array[]
}

/** Wanted blocks, in order. */
export interface WantedList {
  readonly cids: readonly Uint8Array[]
  /** Whether there are no more after them. */
  readonly isEnd: boolean
  /** Whether there is room for blocks on the disk. */
  readonly hasRoom: boolean
}

/** What became of a block that was fetched from another node. */
export interface FetchedBlock {
  readonly outcome: ReceivedBlock['outcome'] | 'noRoom'
  readonly newWants: readonly Uint8Array[]
}

/** The blocks of files for the exchange with other nodes, which may run in another thread. */
export interface ExchangedBlocks {
  /** Wanted blocks, named content first, then the newest upload: the first ones, or those after the last list. */
  wanted(from: 'start' | 'next'): Promise<WantedList>
  /** The bytes of a block for another node, if it is stored. */
  read(cid: Uint8Array): Promise<Uint8Array | undefined>
  /** Verifies a block of another node, and stores it if it is wanted or a download waits for it. */
  receive(cid: Uint8Array, bytes: Uint8Array): Promise<FetchedBlock>
  /** Tells downloads whether there are peers: without them a download of missing content fails at once. */
  setPeers(hasPeers: boolean): void
}

/** What the files thread tells the exchange of blocks. */
export type BlockNotice =
  /** There may be new wanted blocks. */
  | { readonly is: 'wanted' }
  /** A download waits for a block, or no download does any more. */
  | { readonly is: 'asked' | 'unasked'; readonly cid: Uint8Array }
  /** A block that a peer has asked for in vain was stored by other means than the exchange: by an upload. */
  | { readonly is: 'added'; readonly cid: Uint8Array }

/** The part of a block store that the exchange of blocks between nodes uses. */
export interface BlockFetching {
  /** The bytes of a block, if it is stored, verified against the CID. */
  get(cid: Uint8Array): Uint8Array | undefined
  has(cid: Uint8Array): boolean
  /**
   * Pins a block, and thereby all below it, for an owner. It need not be stored yet: then it is wanted, also if it was
   * evicted before.
   */
  pin(owner: string, cid: Uint8Array, reason?: PinReason): void
  unpin(owner: string, cid: Uint8Array): void
  /** Blocks that are referenced and not stored: named content first, then the newest upload. */
  wanted(limit: number, after?: WantPlace): WantedBlock[]
  /** Verifies a block of another node, and stores it if it is wanted, or with `isAsked` because a download waits for it. */
  receive(cid: Uint8Array, bytes: Uint8Array, isAsked: boolean): ReceivedBlock
}
