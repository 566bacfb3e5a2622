import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** The prepared statements of a block store. */
export class BlockStatements {
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
  readonly reference: StatementSync
  readonly dereference: StatementSync
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
    this.reference = sql('UPDATE block SET refs = refs + 1, used = ?, evicted = 0 WHERE id = ? RETURNING refs, size')
    this.dereference = sql('UPDATE block SET refs = refs - 1, used = ? WHERE id = ? RETURNING refs')
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
