import { hash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import type { Blocks, BlockUsage, CacheLimits } from '../port/index.ts'
import { DamagedData } from '../sqlite/index.ts'
import { needsSlot, type Slots } from './slots.ts'

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
  readonly #sql: Statements
  readonly #slots: Slots
  readonly #now: () => number
  /** Read times of unreferenced blocks; stored with the next eviction, not with every read. */
  readonly #used = new Map<BlockNumber, number>()

  /** @param now the clock, in milliseconds. The caller handles transactions. */
  constructor(database: DatabaseSync, slots: Slots, now: () => number) {
    this.#sql = new Statements(database)
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

  pin(owner: string, cid: Uint8Array): void {
    const id = this.#idOf(cid)
    if (Number(this.#sql.insertPin.run(owner, id).changes) > 0) this.#count([id], 1)
  }

  unpin(owner: string, cid: Uint8Array): void {
    const id = this.#sql.find.get(cid)?.['id']
    if (typeof id === 'number' && Number(this.#sql.deletePin.run(owner, id).changes) > 0) this.#count([id], -1)
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
    this.#count(ids, -1)
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
    if (isReferenced && links.length > 0) this.#count(this.#children(id), 1)
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
   * Updates reference counts. When a block becomes referenced or unreferenced, its children are updated too; not by
   * recursion, because links can be deep.
   */
  #count(ids: readonly BlockNumber[], change: 1 | -1): void {
    const worklist = [...ids]
    for (let id = worklist.pop(); id !== undefined; id = worklist.pop()) {
      const refs = Number(this.#sql.count.get(change, this.#now(), id)?.['refs'])
      if (refs !== (change > 0 ? 1 : 0)) continue
      worklist.push(...this.#children(id))
      if (change < 0) this.#sql.deleteUnused.run(id)
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

/** A CID ends with a SHA-256 digest; other hash functions are not supported. */
function isDigestOf(cid: Uint8Array, bytes: Uint8Array): boolean {
  return hash('sha256', bytes, 'buffer').equals(cid.subarray(-32))
}

/** The prepared statements. */
class Statements {
  readonly find: StatementSync
  readonly refs: StatementSync
  readonly body: StatementSync
  readonly children: StatementSync
  readonly pinned: StatementSync
  readonly owners: StatementSync
  readonly insertBlock: StatementSync
  readonly insertReferenced: StatementSync
  readonly insertBody: StatementSync
  readonly insertLink: StatementSync
  readonly insertPin: StatementSync
  readonly deletePin: StatementSync
  readonly fill: StatementSync
  readonly move: StatementSync
  readonly last: StatementSync
  readonly count: StatementSync
  readonly touch: StatementSync
  readonly oldest: StatementSync
  readonly usage: StatementSync
  readonly cachedUsage: StatementSync
  readonly deleteBody: StatementSync
  readonly deleteLinks: StatementSync
  readonly empty: StatementSync
  readonly deleteUnused: StatementSync
  readonly forgetEvicted: StatementSync

  constructor(database: DatabaseSync) {
    const sql = (text: string) => database.prepare(text)
    this.find = sql('SELECT id, refs, size, slot, evicted FROM block WHERE cid = ?')
    this.refs = sql('SELECT refs, slot FROM block WHERE id = ?')
    this.body = sql('SELECT bytes FROM body WHERE id = ?')
    this.children = sql('SELECT child FROM link WHERE parent = ?')
    this.pinned = sql('SELECT id, cid FROM pin JOIN block ON id = block WHERE owner = ?')
    this.owners = sql('SELECT DISTINCT owner FROM pin WHERE substr(owner, 1, ?) = ?')
    this.insertBlock = sql('INSERT INTO block (cid, refs, used, evicted) VALUES (?, 0, ?, 0)')
    this.insertReferenced = sql('INSERT INTO block (cid, refs, used, size, slot, evicted) VALUES (?, 1, ?, ?, ?, 0)')
    this.insertBody = sql('INSERT INTO body VALUES (?, ?)')
    this.insertLink = sql('INSERT OR IGNORE INTO link VALUES (?, ?)')
    this.insertPin = sql('INSERT OR IGNORE INTO pin VALUES (?, ?)')
    this.deletePin = sql('DELETE FROM pin WHERE owner = ? AND block = ?')
    this.fill = sql('UPDATE block SET size = ?, slot = ?, used = ?, evicted = 0 WHERE id = ? RETURNING refs')
    this.move = sql('UPDATE block SET slot = ? WHERE id = ?')
    this.last = sql('SELECT id, size, slot FROM block WHERE slot IS NOT NULL ORDER BY slot DESC LIMIT ?')
    this.count = sql('UPDATE block SET refs = refs + ?, used = ? WHERE id = ? RETURNING refs')
    this.touch = sql('UPDATE block SET used = ? WHERE id = ?')
    this.oldest = sql(
      'SELECT id, size FROM block INDEXED BY cached WHERE refs = 0 AND size IS NOT NULL ORDER BY used LIMIT ?',
    )
    this.usage = sql('SELECT count(*) AS count, sum(size) AS bytes FROM block WHERE size IS NOT NULL')
    this.cachedUsage = sql(
      'SELECT count(*) AS count, sum(size) AS bytes FROM block INDEXED BY cached WHERE refs = 0 AND size IS NOT NULL',
    )
    this.deleteBody = sql('DELETE FROM body WHERE id = ?')
    this.deleteLinks = sql('DELETE FROM link WHERE parent = ?')
    this.empty = sql('UPDATE block SET size = NULL, slot = NULL, evicted = ? WHERE id = ?')
    // A row is needed only for a block that is stored, linked, or recorded as evicted.
    this.deleteUnused = sql(
      'DELETE FROM block WHERE id = ? AND refs = 0 AND size IS NULL AND evicted = 0 AND NOT EXISTS (SELECT 1 FROM link WHERE child = block.id)',
    )
    this.forgetEvicted = sql(
      'DELETE FROM block WHERE id IN (SELECT id FROM block WHERE evicted > 0 AND refs = 0 AND NOT EXISTS (SELECT 1 FROM link WHERE child = block.id) ORDER BY evicted DESC LIMIT -1 OFFSET ?)',
    )
  }
}
