import type { DatabaseSync } from 'node:sqlite'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import {
  admitBlock,
  type Blocks,
  type BlockUsage,
  type CacheLimits,
  isDigestOf,
  lastRank,
  type PinReason,
  type ReceivedBlock,
  rankOf,
  type WantedBlock,
  type WantPlace,
  type WantRank,
} from '../port/index.ts'
import { DamagedData } from '../sqlite/index.ts'
import { BlockStatements } from './block-statements.ts'
import { needsSlot, type Slots } from './slots.ts'
import { WantTable } from './want-table.ts'

/** The row ID of a block. */
type BlockNumber = number

interface NewBlock {
  readonly bytes: Uint8Array
  readonly slot: number | null
  readonly links: readonly Uint8Array[]
  readonly isReferenced: boolean
}

/**
 * Blocks by CID, with reference counts that are updated with every change, so that eviction needs no search. A block
 * can be known without being stored: linked or pinned before it arrived, or evicted.
 */
export class BlockStore implements Blocks {
  readonly #sql: BlockStatements
  readonly #wants: WantTable
  readonly #slots: Slots
  readonly #now: () => number
  /** Read times of unreferenced blocks; stored with the next eviction, not with every read. */
  readonly #used = new Map<BlockNumber, number>()

  /** @param now the clock, in milliseconds. The caller handles transactions. */
  constructor(database: DatabaseSync, slots: Slots, now: () => number) {
    this.#sql = new BlockStatements(database)
    this.#wants = new WantTable(database)
    this.#slots = slots
    this.#now = now
  }

  get(cid: Uint8Array): Uint8Array | undefined {
    const row = this.#sql.find.get(cid)
    if (row === undefined || row['size'] === null) return undefined
    const id = Number(row['id'])
    if (row['refs'] === 0) this.#used.set(id, this.#now())
    const { slot, size } = row
    const bytes = slot === null ? this.#sql.body.get(id)?.['bytes'] : this.#slots.read(Number(slot), Number(size))
    if (!(bytes instanceof Uint8Array) || !isDigestOf(cid, bytes)) throw new DamagedData('a block of a file is damaged')
    return bytes
  }

  has(cid: Uint8Array): boolean {
    return (this.#sql.find.get(cid)?.['size'] ?? null) !== null
  }

  isEvicted(cid: Uint8Array): boolean {
    return Number(this.#sql.find.get(cid)?.['evicted'] ?? 0) > 0
  }

  put(cid: Uint8Array, bytes: Uint8Array, links: readonly Uint8Array[]): number {
    if (this.has(cid)) return 0
    const id = this.#idOf(cid)
    const slot = needsSlot(bytes) ? this.#slots.write(bytes) : null
    const refs = this.#sql.fill.get(bytes.length, slot, this.#now(), id)?.['refs']
    return this.#fill(id, { bytes, slot, links, isReferenced: Number(refs) > 0 })
  }

  /** A new block, the common case, is inserted with its reference in one step. */
  putPinned(owner: string, cid: Uint8Array, bytes: Uint8Array, links: readonly Uint8Array[]): number {
    if (this.#sql.find.get(cid) !== undefined) {
      this.pin(owner, cid)
      return this.put(cid, bytes, links)
    }
    const slot = needsSlot(bytes) ? this.#slots.write(bytes) : null
    const id = Number(this.#sql.insertReferenced.run(cid, this.#now(), bytes.length, slot).lastInsertRowid)
    this.#sql.insertPin.run(owner, id)
    return this.#fill(id, { bytes, slot, links, isReferenced: true })
  }

  pin(owner: string, cid: Uint8Array, reason?: PinReason): void {
    const id = this.#idOf(cid)
    const rank = rankOf(reason)
    if (Number(this.#sql.insertPin.run(owner, id).changes) > 0) this.#reference([id], rank)
    if (reason !== undefined) this.#wants.raise(id, rank)
  }

  unpin(owner: string, cid: Uint8Array): void {
    const id = this.#sql.find.get(cid)?.['id']
    if (typeof id === 'number' && Number(this.#sql.deletePin.run(owner, id).changes) > 0) this.#dereference([id])
  }

  pinnedBy(owner: string): Uint8Array[] {
    return this.#sql.pinned.all(owner).map((row) => row['cid'] as Uint8Array)
  }

  owners(prefix: string): string[] {
    return this.#sql.owners.all(prefix.length, prefix).map((row) => String(row['owner']))
  }

  discard(owner: string): void {
    const ids = this.#sql.pinned.all(owner).map((row) => Number(row['id']))
    for (const id of ids) this.#sql.deletePin.run(owner, id)
    this.#dereference(ids)
    for (const id of ids) if (Number(this.#sql.refs.get(id)?.['refs'] ?? 1) === 0) this.#remove(id, 0)
  }

  collect({ count, bytes }: CacheLimits): boolean {
    for (const [id, used] of this.#used) this.#sql.touch.run(used, id)
    this.#used.clear()
    const { cachedBlocks, cachedBytes } = this.#cached()
    let blocksOver = cachedBlocks - count
    let bytesOver = cachedBytes - bytes
    for (const row of this.#sql.oldest.all(tuning.evictionsPerTurn)) {
      if (blocksOver <= 0 && bytesOver <= 0) break
      this.#remove(Number(row['id']), this.#now())
      blocksOver--
      bytesOver -= Number(row['size'])
    }
    this.#sql.forgetEvicted.run(limits.evictedBlocks)
    return blocksOver > 0 || bytesOver > 0
  }

  wanted(limit: number, after?: WantPlace): WantedBlock[] {
    return this.#wants.list(limit, after)
  }

  /** Whether blocks have become wanted since the last call. */
  takeNewWants(): boolean {
    return this.#wants.takeAdded()
  }

  receive(cid: Uint8Array, bytes: Uint8Array, isAsked: boolean): ReceivedBlock {
    const row = this.#sql.find.get(cid)
    const isStored = (row?.['size'] ?? null) !== null
    const admitted = admitBlock(cid, bytes, { isStored, isWanted: isAsked || Number(row?.['refs'] ?? 0) > 0 })
    if (admitted.outcome !== 'store') return { outcome: admitted.outcome, newWants: [] }
    this.put(cid, bytes, admitted.links)
    return { outcome: 'stored', newWants: this.#wants.below(this.#idOf(cid), limits.wantsPerList) }
  }

  /** Moves a batch of blocks from the last slots to free ones before them. Returns whether there are more to move. */
  compactSlots(): boolean {
    for (const row of this.#sql.last.all(tuning.movesPerTurn)) {
      const free = this.#slots.firstFree
      const slot = Number(row['slot'])
      if (free === undefined || free > slot) return false
      this.#sql.move.run(this.#slots.write(this.#slots.read(slot, Number(row['size']))), Number(row['id']))
      this.#slots.free(slot)
    }
    return this.#slots.firstFree !== undefined
  }

  usage(): BlockUsage {
    const all = this.#sql.usage.get() ?? {}
    return { blocks: Number(all['count']), bytes: Number(all['bytes'] ?? 0), ...this.#cached() }
  }

  #cached(): Pick<BlockUsage, 'cachedBlocks' | 'cachedBytes'> {
    const cached = this.#sql.cachedUsage.get() ?? {}
    return { cachedBlocks: Number(cached['count']), cachedBytes: Number(cached['bytes'] ?? 0) }
  }

  /** Stores the links of a new block, and its bytes unless they are in a slot. */
  #fill(id: BlockNumber, { bytes, slot, links, isReferenced }: NewBlock): number {
    if (slot === null) this.#sql.insertBody.run(id, bytes)
    for (const link of links) this.#sql.insertLink.run(id, this.#idOf(link))
    const rank = this.#wants.remove(id)
    if (isReferenced && links.length > 0) {
      this.#reference(this.#children(id), rank ?? lastRank)
      if (rank !== undefined) this.#wants.raise(id, rank)
    }
    return slot === null ? bytes.length : 0
  }

  #idOf(cid: Uint8Array): BlockNumber {
    const found = this.#sql.find.get(cid)?.['id']
    return typeof found === 'number' ? found : Number(this.#sql.insertBlock.run(cid, this.#now()).lastInsertRowid)
  }

  #children(id: BlockNumber): BlockNumber[] {
    return this.#sql.children.all(id).map((row) => Number(row['child']))
  }

  /**
   * Adds a reference to blocks. The links of a block that becomes referenced count from now on, too; not by recursion,
   * because links can be deep. One that is missing becomes wanted.
   */
  #reference(ids: readonly BlockNumber[], rank: WantRank): void {
    const worklist = [...ids]
    for (let id = worklist.pop(); id !== undefined; id = worklist.pop()) {
      const row = this.#sql.reference.get(this.#now(), id)
      if (Number(row?.['refs']) !== 1) continue
      if (row?.['size'] === null) this.#wants.add(id, rank)
      worklist.push(...this.#children(id))
    }
  }

  /** Removes a reference from blocks. The links of a block that becomes unreferenced count no more. */
  #dereference(ids: readonly BlockNumber[]): void {
    const worklist = [...ids]
    for (let id = worklist.pop(); id !== undefined; id = worklist.pop()) {
      if (Number(this.#sql.dereference.get(this.#now(), id)?.['refs']) !== 0) continue
      worklist.push(...this.#children(id))
      this.#wants.remove(id)
      this.#sql.deleteUnused.run(id)
    }
  }

  /** Removes an unreferenced block. `evicted` is the time of eviction to store, or 0. */
  #remove(id: BlockNumber, evicted: number): void {
    const children = this.#children(id)
    const slot = this.#sql.refs.get(id)?.['slot']
    if (typeof slot === 'number') this.#slots.free(slot)
    else this.#sql.deleteBody.run(id)
    this.#sql.deleteLinks.run(id)
    this.#sql.empty.run(evicted, id)
    for (const gone of [id, ...children]) this.#sql.deleteUnused.run(gone)
  }
}
