import { hash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import type { Blocks, BlockUsage, CacheLimits } from '../port/index.ts'
import { DamagedData } from '../sqlite/index.ts'
import { needsSlot, type Slots } from './slots.ts'

/** A block by its number in the database. */
type BlockNumber = number

interface NewBlock {
  readonly bytes: Uint8Array
  readonly slot: number | null
  readonly links: readonly Uint8Array[]
  readonly isHeld: boolean
}

/**
 * Blocks by their content identifiers, and what holds them: a pin holds a block, and a block that is held holds those it
 * links to. How often a block is held is counted with every change, so that finding what can go is no search. A block can
 * be known without being here: linked to or pinned and not yet come, or evicted.
 */
export class BlockStore implements Blocks {
  readonly #sql: Statements
  readonly #slots: Slots
  readonly #now: () => number
  /** When blocks that nothing holds were read; stored with the next collection, not with every read. */
  readonly #used = new Map<BlockNumber, number>()

  /** `now` answers in milliseconds. Whoever calls sees to transactions. */
  constructor(database: DatabaseSync, slots: Slots, now: () => number) {
    this.#sql = new Statements(database)
    this.#slots = slots
    this.#now = now
  }

  /** The bytes of a block, if it is here. They are what the identifier says. */
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

  /** Whether a block was here and had to go. */
  isEvicted(cid: Uint8Array): boolean {
    return Number(this.#sql.find.get(cid)?.['evicted'] ?? 0) > 0
  }

  /**
   * Stores a block, whose bytes have been made for or checked against its identifier, with what it links to. Answers with
   * the bytes that the database has to write for it.
   */
  put(cid: Uint8Array, bytes: Uint8Array, links: readonly Uint8Array[]): number {
    if (this.has(cid)) return 0
    const id = this.#known(cid)
    const slot = needsSlot(bytes) ? this.#slots.write(bytes) : null
    const refs = this.#sql.fill.get(bytes.length, slot, this.#now(), id)?.['refs']
    return this.#fill(id, { bytes, slot, links, isHeld: Number(refs) > 0 })
  }

  /** Stores a block that an owner holds. For one that is new, and most are, that is one step and not two. */
  putPinned(owner: string, cid: Uint8Array, bytes: Uint8Array, links: readonly Uint8Array[]): number {
    if (this.#sql.find.get(cid) !== undefined) {
      this.pin(owner, cid)
      return this.put(cid, bytes, links)
    }
    const slot = needsSlot(bytes) ? this.#slots.write(bytes) : null
    const id = Number(this.#sql.insertHeld.run(cid, this.#now(), bytes.length, slot).lastInsertRowid)
    this.#sql.insertPin.run(owner, id)
    return this.#fill(id, { bytes, slot, links, isHeld: true })
  }

  /** Holds a block, and all below it, for an owner; it need not be here yet. */
  pin(owner: string, cid: Uint8Array): void {
    const id = this.#known(cid)
    if (Number(this.#sql.insertPin.run(owner, id).changes) > 0) this.#count([id], 1)
  }

  unpin(owner: string, cid: Uint8Array): void {
    const id = this.#sql.find.get(cid)?.['id']
    if (typeof id === 'number' && Number(this.#sql.deletePin.run(owner, id).changes) > 0) this.#count([id], -1)
  }

  /** What an owner holds. */
  pinnedBy(owner: string): Uint8Array[] {
    return this.#sql.pinned.all(owner).map((row) => row['cid'] as Uint8Array)
  }

  /** All owners whose names begin like this. */
  owners(prefix: string): string[] {
    return this.#sql.owners.all(prefix.length, prefix).map((row) => String(row['owner']))
  }

  /** Gives up everything that an owner holds; what nobody else holds is gone at once. */
  discard(owner: string): void {
    const ids = this.#sql.pinned.all(owner).map((row) => Number(row['id']))
    for (const id of ids) this.#sql.deletePin.run(owner, id)
    this.#count(ids, -1)
    for (const id of ids) if (Number(this.#sql.refs.get(id)?.['refs'] ?? 1) === 0) this.#remove(id, 0)
  }

  /**
   * Evicts blocks that nothing holds, those first that were not read for longest, until the rest is within its limits.
   * Does some of it, and answers whether there is more.
   */
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
    this.#sql.forget.run(limits.evictedBlocks)
    return blocksOver > 0 || bytesOver > 0
  }

  /** Moves some blocks from the last slots to free ones before them; answers whether there is more to move. */
  closeGaps(): boolean {
    for (const row of this.#sql.last.all(tuning.movesPerTurn)) {
      const free = this.#slots.firstFree
      const slot = Number(row['slot'])
      if (free === undefined || free > slot) return false
      this.#sql.move.run(this.#slots.write(this.#slots.read(slot, Number(row['size']))), Number(row['id']))
      this.#slots.giveUp(slot)
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

  /** Stores what a block that is here from now on has, other than in its slot. */
  #fill(id: BlockNumber, { bytes, slot, links, isHeld }: NewBlock): number {
    if (slot === null) this.#sql.insertBody.run(id, bytes)
    for (const link of links) this.#sql.insertLink.run(id, this.#known(link))
    if (isHeld && links.length > 0) this.#count(this.#children(id), 1)
    return slot === null ? bytes.length : 0
  }

  #known(cid: Uint8Array): BlockNumber {
    const found = this.#sql.find.get(cid)?.['id']
    return typeof found === 'number' ? found : Number(this.#sql.insertBlock.run(cid, this.#now()).lastInsertRowid)
  }

  #children(id: BlockNumber): BlockNumber[] {
    return this.#sql.children.all(id).map((row) => Number(row['child']))
  }

  /** Blocks are held once more, or once less. Where that makes a difference it goes on below; not by recursion: links of others can be deep. */
  #count(ids: readonly BlockNumber[], change: 1 | -1): void {
    const waiting = [...ids]
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const refs = Number(this.#sql.count.get(change, this.#now(), id)?.['refs'])
      if (refs !== (change > 0 ? 1 : 0)) continue
      waiting.push(...this.#children(id))
      if (change < 0) this.#sql.deleteUnknown.run(id)
    }
  }

  /** Removes a block that nothing holds; `evicted` is when, to be remembered, or zero. */
  #remove(id: BlockNumber, evicted: number): void {
    const children = this.#children(id)
    const slot = this.#sql.refs.get(id)?.['slot']
    if (typeof slot === 'number') this.#slots.giveUp(slot)
    else this.#sql.deleteBody.run(id)
    this.#sql.deleteLinks.run(id)
    this.#sql.empty.run(evicted, id)
    for (const gone of [id, ...children]) this.#sql.deleteUnknown.run(gone)
  }
}

/** An identifier ends with a SHA-256 and its length; other hashes are not made here and not taken. */
function isDigestOf(cid: Uint8Array, bytes: Uint8Array): boolean {
  return hash('sha256', bytes, 'buffer').equals(cid.subarray(-32))
}

/** Everything that is asked of the database. */
class Statements {
  readonly find: StatementSync
  readonly refs: StatementSync
  readonly body: StatementSync
  readonly children: StatementSync
  readonly pinned: StatementSync
  readonly owners: StatementSync
  readonly insertBlock: StatementSync
  readonly insertHeld: StatementSync
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
  readonly deleteUnknown: StatementSync
  readonly forget: StatementSync

  constructor(database: DatabaseSync) {
    const sql = (text: string) => database.prepare(text)
    this.find = sql('SELECT id, refs, size, slot, evicted FROM block WHERE cid = ?')
    this.refs = sql('SELECT refs, slot FROM block WHERE id = ?')
    this.body = sql('SELECT bytes FROM body WHERE id = ?')
    this.children = sql('SELECT child FROM link WHERE parent = ?')
    this.pinned = sql('SELECT id, cid FROM pin JOIN block ON id = block WHERE owner = ?')
    this.owners = sql('SELECT DISTINCT owner FROM pin WHERE substr(owner, 1, ?) = ?')
    this.insertBlock = sql('INSERT INTO block (cid, refs, used, evicted) VALUES (?, 0, ?, 0)')
    this.insertHeld = sql('INSERT INTO block (cid, refs, used, size, slot, evicted) VALUES (?, 1, ?, ?, ?, 0)')
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
    // What is not here, and neither linked to nor remembered, need not be known.
    this.deleteUnknown = sql(
      'DELETE FROM block WHERE id = ? AND refs = 0 AND size IS NULL AND evicted = 0 AND NOT EXISTS (SELECT 1 FROM link WHERE child = block.id)',
    )
    this.forget = sql(
      'DELETE FROM block WHERE id IN (SELECT id FROM block WHERE evicted > 0 AND refs = 0 AND NOT EXISTS (SELECT 1 FROM link WHERE child = block.id) ORDER BY evicted DESC LIMIT -1 OFFSET ?)',
    )
  }
}
