import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { messageOf, ShoalError } from '../../errors.ts'

/** "shbl": the blocks of a topic. */
const applicationId = 0x7368626c
/** The format of the tables. A higher one is not touched. */
const formatVersion = 1
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

/** Opens the database with the blocks of a topic, and makes it when it is not there. */
export function openBlocks(file: string): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
    database = new DatabaseSync(file)
    prepare(database)
    return database
  } catch (error) {
    database?.close()
    throw new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` cannot be used: ${messageOf(error)}`, { cause: error })
  }
}

function prepare(database: DatabaseSync): void {
  const pragma = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name])
  const version = pragma('user_version')
  if (version > formatVersion) throw new Error(`Detected future version ${version}`)
  if (version > 0 && pragma('application_id') !== applicationId) throw new Error('it holds no blocks')
  if (version === 0) database.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA auto_vacuum = INCREMENTAL`)
  // A commit is one sync and not four. What is written twice is little: large blocks are not in here.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 8388608')
  database.exec('PRAGMA cache_size = -4096')
  if (version === 0)
    database.exec(
      `BEGIN IMMEDIATE; ${tables} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${formatVersion}; COMMIT`,
    )
}
