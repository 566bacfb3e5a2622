import { DatabaseSync } from 'node:sqlite'
import { openingError } from '../disk/disk-io-error.ts'
import { createFile, type DiskSync, diskSync } from '../disk/sync.ts'
import { lastRank } from '../port/index.ts'
import { DamagedData } from '../sqlite/index.ts'

/** "shbl": the blocks of a topic. */
const applicationId = 0x7368626c
/**
 * The version of the schema. A database of a higher version is not touched.
 * 1: rows of `register` and `followed` have no checksums.
 * 2: new rows have checksums, and changes are counted.
 * 3: missing blocks are listed in the order in which they are fetched.
 */
const formatVersion = 3
/** A compromise: CIDs are random, so every new block changes another page of their index, but files may be small. */
const pageBytes = 8 * 1024

/** Bytes of blocks are in a separate table, or in a slot: metadata changes often, bytes never do. */
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
/** The order of blocks that were missing before is unknown: they come last. */
const changesOfVersion3 = `
  CREATE TABLE want (block INTEGER PRIMARY KEY, class INTEGER NOT NULL, age INTEGER NOT NULL) STRICT;
  CREATE INDEX wanted ON want (class, age, block);
  INSERT INTO want SELECT id, ${lastRank.class}, ${lastRank.age} FROM block WHERE refs > 0 AND size IS NULL;
`

/** The last connection that closes locks the database, and so does the first one, which may change its journal. */
const busyMs = 5000

/** Opens the block database of a topic. Creates it if it is missing, unless `readOnly` is set. */
export function openBlocks(file: string, { readOnly = false, sync = diskSync }: BlocksOptions = {}): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    if (!readOnly) createFile(file, sync)
    database = new DatabaseSync(file, { readOnly, timeout: busyMs })
    if (!readOnly) prepare(database)
    else if (versionOf(database) !== formatVersion) {
      // A damaged write-ahead log may have lost the schema; nothing is changed.
      if (versionOf(database) === 0) throw new Error('it holds no blocks')
      // An earlier version is upgraded first; a later one is rejected.
      database.close()
      openBlocks(file).close()
      database = new DatabaseSync(file, { readOnly, timeout: busyMs })
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

/** Rewrites the schema version: a write that changes nothing. */
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
  // A commit needs one sync instead of four. Little is written twice, because large blocks are in slots.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 8388608')
  database.exec('PRAGMA cache_size = -4096')
  if (version < formatVersion) {
    const missing = [tables, changesOfVersion2, changesOfVersion3].slice(version)
    database.exec(
      `BEGIN IMMEDIATE; ${missing.join('')} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${formatVersion}; COMMIT`,
    )
  }
}

/**
 * Checks tables and indexes, and throws when they are damaged: a name or block that is missing in an index would look
 * as if it had never existed. Bytes of blocks are not checked here: each read verifies them against the CID.
 */
export function checkBlocks(database: DatabaseSync): void {
  const checks = [
    'quick_check(register)',
    'quick_check(followed)',
    'quick_check(pin)',
    'integrity_check(block)',
    'integrity_check(want)',
  ]
  for (const check of checks) {
    const found = Object.values(database.prepare(`PRAGMA ${check}`).get() ?? {})[0]
    if (found !== 'ok') throw new DamagedData(`the database is damaged: ${String(found)}`)
  }
  const lost = 'SELECT 1 FROM block WHERE size IS NULL AND (slot IS NOT NULL OR id IN (SELECT id FROM body)) LIMIT 1'
  if (database.prepare(lost).get() !== undefined) throw new DamagedData('a block is there and has no size')
}
