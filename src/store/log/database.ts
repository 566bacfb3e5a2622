import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { messageOf, ShoalError } from '../../errors.ts'
import type { TopicKind } from '../../protocol/index.ts'

/** "shlo": the log of a topic. */
const applicationId = 0x73686c6f
/** The format of the tables. A higher one is not touched. */
const formatVersion = 1

const pageBytes = 4096
/** Pages of write-ahead log after which it is folded back: a commit then waits in proportion to it. */
const checkpointPages = 1000

const tables = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE stream (
    number INTEGER PRIMARY KEY, node BLOB NOT NULL, nr INTEGER NOT NULL, pruned INTEGER NOT NULL, record BLOB, head BLOB, crc INTEGER NOT NULL,
    UNIQUE (node, nr)
  ) STRICT;
  CREATE TABLE tail (
    key INTEGER PRIMARY KEY, count INTEGER NOT NULL, lamport INTEGER NOT NULL, hash BLOB NOT NULL, raw INTEGER NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL
  ) STRICT;
  CREATE TABLE waiting (key INTEGER PRIMARY KEY, chunk BLOB NOT NULL) STRICT;
  CREATE TABLE checkpoint (key INTEGER PRIMARY KEY, head BLOB NOT NULL) STRICT;
  CREATE TABLE segment (key INTEGER PRIMARY KEY, count INTEGER NOT NULL, lamport INTEGER NOT NULL, last INTEGER NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
  CREATE TABLE range (id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, bits INTEGER NOT NULL, crc INTEGER NOT NULL) STRICT;
  CREATE TABLE posting (key INTEGER PRIMARY KEY, crc INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
  CREATE TABLE redaction (key INTEGER PRIMARY KEY, record BLOB NOT NULL) STRICT;
`

/** Opens the log of a topic for the one connection that writes, and makes it when it is not there. */
export function openForWriting(file: string, topic: string, kind: TopicKind): DatabaseSync {
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  const database = new DatabaseSync(file, { timeout: 5000 })
  try {
    refuseFuture(database, file)
    // These hold for new files only, and have to come before the first table.
    database.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA auto_vacuum = INCREMENTAL`)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = FAST')
    database.exec(
      `PRAGMA wal_autocheckpoint = ${checkpointPages}; PRAGMA journal_size_limit = 1048576; PRAGMA cache_size = -8192`,
    )
    if (userVersion(database) === 0) create(database, topic, kind)
    checkMeta(database, file, topic, kind)
    return database
  } catch (error) {
    database.close()
    throw asNodeState(error, file)
  }
}

/** Opens the log of a topic for a connection that only reads. */
export function openForReading(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    refuseFuture(database, file)
    database.exec('PRAGMA cache_size = -4096')
    return database
  } catch (error) {
    database.close()
    throw asNodeState(error, file)
  }
}

export function metaOf(database: DatabaseSync): { topic: string; kind: TopicKind } {
  const value = (name: string): unknown =>
    database.prepare('SELECT value FROM meta WHERE name = ?').get(name)?.['value']
  return { topic: String(value('topic')), kind: value('kind') === 'imported' ? 'imported' : 'live' }
}

function userVersion(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
}

function refuseFuture(database: DatabaseSync, file: string): void {
  const version = userVersion(database)
  if (version > formatVersion)
    throw new ShoalError(
      'ERR_INVALID_NODE_STATE',
      `Detected future version ${version} of the event log \`${file}\`. Nothing was changed.`,
    )
}

function create(database: DatabaseSync, topic: string, kind: TopicKind): void {
  database.exec(`BEGIN IMMEDIATE; ${tables}`)
  const insert = database.prepare('INSERT INTO meta VALUES (?, ?)')
  insert.run('topic', topic)
  insert.run('kind', kind)
  database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${formatVersion}; COMMIT`)
}

function checkMeta(database: DatabaseSync, file: string, topic: string, kind: TopicKind): void {
  const meta = metaOf(database)
  if (meta.topic !== topic || meta.kind !== kind)
    throw new ShoalError(
      'ERR_INVALID_NODE_STATE',
      `\`${file}\` holds the ${meta.kind} topic '${meta.topic}', not the ${kind} topic '${topic}'.`,
    )
}

function asNodeState(error: unknown, file: string): ShoalError {
  if (error instanceof ShoalError) return error
  return new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` cannot be used: ${messageOf(error)}`, { cause: error })
}
