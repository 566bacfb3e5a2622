import { DatabaseSync } from 'node:sqlite'
import { openingError } from '../disk/disk-refusal.ts'
import { createFile, type DiskSync, diskSync } from '../disk/sync.ts'
import { DamagedData } from '../sqlite/index.ts'

/** "shbl": the blocks of a topic. */
const applicationId = 0x7368626c
/**
 * The format of the tables. A higher one is not touched.
 * 1: rows of `register` and `followed` have no checksums.
 * 2: they have, unless an earlier version wrote them, and changes are counted.
 */
const formatVersion = 2
/** Identifiers are random, so every new block changes another page of their index; but small files should not need many. */
const pageBytes = 8 * 1024

/** Bytes have a table of their own, or a slot in another file: what is known of a block changes often, its bytes never do. */
const tables = `
  CREATE TABLE block (id INTEGER PRIMARY KEY, cid BLOB NOT NULL UNIQUE, refs INTEGER NOT NULL, used INTEGER NOT NULL, size INTEGER, slot INTEGER, evicted INTEGER NOT NULL) STRICT;
  CREATE INDEX cached ON block (used, size) WHERE refs = 0 AND size IS NOT NULL;
  CREATE UNIQUE INDEX slotted ON block (slot) WHERE slot IS NOT NULL;
  CREATE INDEX evicted ON block (evicted) WHERE evicted > 0;
  CREATE TABLE body (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
  CREATE TABLE link (parent INTEGER NOT NULL, child INTEGER NOT NULL, PRIMARY KEY (parent, child)) STRICT, WITHOUT ROWID;
  CREATE INDEX linked ON link (child);
  CREATE TABLE pin (owner TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (owner, block)) STRICT, WITHOUT ROWID;
  CREATE TABLE register (kind TEXT NOT NULL, key TEXT NOT NULL, lamport INTEGER NOT NULL, stream TEXT NOT NULL, value TEXT, PRIMARY KEY (kind, key)) STRICT, WITHOUT ROWID;
  CREATE TABLE followed (stream TEXT PRIMARY KEY, offset INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`
const changesOfVersion2 = `
  ALTER TABLE register ADD COLUMN crc INTEGER;
  ALTER TABLE followed ADD COLUMN crc INTEGER;
  CREATE TABLE change (count INTEGER NOT NULL) STRICT;
  INSERT INTO change VALUES (0);
`

/** Opens the database with the blocks of a topic, and makes it when it is not there, unless it is only to be read. */
export function openBlocks(file: string, { readOnly = false, sync = diskSync }: BlocksOptions = {}): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    if (!readOnly) createFile(file, sync)
    database = new DatabaseSync(file, { readOnly })
    if (!readOnly) prepare(database)
    else if (versionOf(database) !== formatVersion) {
      // A damaged write-ahead log may have taken everything along; it stays as it is.
      if (versionOf(database) === 0) throw new Error('it holds no blocks')
      // One of an earlier version becomes one of this first; a later one is refused.
      database.close()
      openBlocks(file).close()
      database = new DatabaseSync(file, { readOnly })
    }
    return database
  } catch (error) {
    if (database?.isOpen === true) database.close()
    throw openingError(error, file)
  }
}

interface BlocksOptions {
  readonly readOnly?: boolean
  readonly sync?: DiskSync
}

/** Writes the version of the format once more: a write that changes nothing. */
export function rewriteBlockVersion(database: DatabaseSync): void {
  database.exec(`PRAGMA user_version = ${formatVersion}`)
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
}

function prepare(database: DatabaseSync): void {
  const version = versionOf(database)
  if (version > formatVersion) throw new Error(`Detected future version ${version}`)
  const mark = Number(database.prepare('PRAGMA application_id').get()?.['application_id'])
  if (version > 0 && mark !== applicationId) throw new Error('it holds no blocks')
  if (version === 0) database.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA auto_vacuum = INCREMENTAL`)
  // A commit is one sync and not four. What is written twice is little: large blocks are not in here.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 8388608')
  database.exec('PRAGMA cache_size = -4096')
  if (version < formatVersion) {
    const missing = version === 0 ? `${tables} ${changesOfVersion2}` : changesOfVersion2
    database.exec(
      `BEGIN IMMEDIATE; ${missing} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${formatVersion}; COMMIT`,
    )
  }
}

/**
 * Throws unless everything is in its place: a name or a block that an index does not find any more would be answered as
 * if it had never been there. Bytes of blocks are not read: they are checked against their identifiers when they are.
 */
export function checkBlocks(database: DatabaseSync): void {
  const checks = ['quick_check(register)', 'quick_check(followed)', 'quick_check(pin)', 'integrity_check(block)']
  for (const check of checks) {
    const found = Object.values(database.prepare(`PRAGMA ${check}`).get() ?? {})[0]
    if (found !== 'ok') throw new DamagedData(`the database is damaged: ${String(found)}`)
  }
  const lost = 'SELECT 1 FROM block WHERE size IS NULL AND (slot IS NOT NULL OR id IN (SELECT id FROM body)) LIMIT 1'
  if (database.prepare(lost).get() !== undefined) throw new DamagedData('a block is there and has no size')
}
