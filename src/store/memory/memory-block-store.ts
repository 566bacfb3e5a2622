import { limits } from '../../base/limits.ts'
import {
  admitBlock,
  type BlockFetching,
  compareRanks,
  lastRank,
  type PinReason,
  type ReceivedBlock,
  rankOf,
  type WantedBlock,
  type WantPlace,
  type WantRank,
} from '../port/index.ts'

/** A CID as the key of a map: its bytes as latin1. */
type Key = string

interface MemoryBlock {
  readonly bytes: Uint8Array
  readonly links: readonly Key[]
}

/** Blocks in memory, for tests and simulation: finds what is wanted by walking from the pins. Nothing is evicted. */
export class MemoryBlockStore implements BlockFetching {
  readonly #blocks = new Map<Key, MemoryBlock>()
  readonly #pins = new Map<Key, Set<string>>()
  /** The ranks of wanted blocks, in the order in which they became wanted. */
  readonly #wants = new Map<Key, WantPlace>()
  #count = 0

  get(cid: Uint8Array): Uint8Array | undefined {
    return this.#blocks.get(keyOf(cid))?.bytes
  }

  has(cid: Uint8Array): boolean {
    return this.#blocks.has(keyOf(cid))
  }

  /** Stores a block of this node. The CID must have been verified. */
  put(cid: Uint8Array, bytes: Uint8Array, links: readonly Uint8Array[]): void {
    const key = keyOf(cid)
    if (this.#blocks.has(key)) return
    const rank = this.#wants.get(key)
    this.#blocks.set(key, { bytes, links: links.map(keyOf) })
    this.#wants.delete(key)
    // What nothing wants leads to nothing that is wanted.
    if (rank === undefined) return
    this.#want([key])
    this.#raise(key, rank)
  }

  pin(owner: string, cid: Uint8Array, reason?: PinReason): void {
    const key = keyOf(cid)
    this.#pins.set(key, (this.#pins.get(key) ?? new Set()).add(owner))
    this.#want([key])
    this.#raise(key, rankOf(reason))
  }

  unpin(owner: string, cid: Uint8Array): void {
    this.#pins.get(keyOf(cid))?.delete(owner)
    const roots = [...this.#pins].filter(([, owners]) => owners.size > 0).map(([key]) => key)
    const missing = new Set(this.#missingBelow(roots))
    for (const key of this.#wants.keys()) if (!missing.has(key)) this.#wants.delete(key)
  }

  wanted(limit: number, after?: WantPlace): WantedBlock[] {
    return [...this.#wants]
      .map(([key, place]) => ({ cid: cidOf(key), place }))
      .sort((a, b) => comparePlaces(a.place, b.place))
      .filter(({ place }) => after === undefined || comparePlaces(place, after) > 0)
      .slice(0, limit)
  }

  receive(cid: Uint8Array, bytes: Uint8Array, isAsked: boolean): ReceivedBlock {
    const key = keyOf(cid)
    const known = { isStored: this.#blocks.has(key), isWanted: isAsked || this.#wants.has(key) }
    const admitted = admitBlock(cid, bytes, known)
    if (admitted.outcome !== 'store') return { outcome: admitted.outcome, newWants: [] }
    this.put(cid, bytes, admitted.links)
    const missing = [...new Set(admitted.links.map(keyOf))].filter((link) => this.#wants.has(link))
    return { outcome: 'stored', newWants: missing.slice(0, limits.wantsPerList).map(cidOf) }
  }

  /** Wants the missing blocks among some and below them. */
  #want(roots: readonly Key[]): void {
    for (const key of this.#missingBelow(roots))
      if (!this.#wants.has(key)) this.#wants.set(key, { ...lastRank, block: this.#count++ })
  }

  #raise(root: Key, rank: WantRank): void {
    for (const key of this.#missingBelow([root])) {
      const place = this.#wants.get(key)
      if (place !== undefined && compareRanks(rank, place) < 0)
        this.#wants.set(key, { class: rank.class, age: rank.age, block: place.block })
    }
  }

  /** The missing blocks among some and all that are linked below them. */
  #missingBelow(roots: readonly Key[]): Key[] {
    const seen = new Set(roots)
    for (const key of seen) for (const link of this.#blocks.get(key)?.links ?? []) seen.add(link)
    return [...seen].filter((key) => !this.#blocks.has(key))
  }
}

function keyOf(cid: Uint8Array): Key {
  return Buffer.from(cid).toString('latin1')
}

function cidOf(key: Key): Uint8Array {
  return Buffer.from(key, 'latin1')
}

function comparePlaces(a: WantPlace, b: WantPlace): number {
  return compareRanks(a, b) || a.block - b.block
}
