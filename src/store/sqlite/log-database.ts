import { DatabaseSync } from 'node:sqlite'
import { messageOf, ShoalError } from '../../base/errors.ts'
import { format } from '../../base/format.ts'
import type { TopicKind } from '../../protocol/index.ts'
import { DiskError, diskErrorReason } from '../disk/disk-io-error.ts'
import { createFile, type DiskSync, diskSync } from '../disk/sync.ts'
import { preparedOnce } from './prepared.ts'
import { evidenceTable, hasEvidence } from './rows/evidence.ts'
import { hasIntroductions, introductionTable } from './rows/introductions.ts'
import { segmentTable } from './rows/segment-columns.ts'
import { formatOf } from './sqlite-header.ts'
import { timesTable } from './time-index/range-times.ts'

const { logApplicationId, logFormatVersion, logPageBytes } = format
/** Pages in the write-ahead log that trigger a checkpoint: the commit that runs it takes time in proportion to them. */
const checkpointPages = 1000

const tailColumns =
  'key INTEGER PRIMARY KEY, count INTEGER NOT NULL, lamport INTEGER NOT NULL, hash BLOB NOT NULL, raw INTEGER NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL'

const waitingTable =
  'CREATE TABLE waiting (key INTEGER PRIMARY KEY, crc INTEGER NOT NULL, pad BLOB NOT NULL, before BLOB NOT NULL, chunk BLOB NOT NULL) STRICT;'

const tables = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE stream (
    number INTEGER PRIMARY KEY, node BLOB NOT NULL, nr INTEGER NOT NULL, pruned INTEGER NOT NULL, checkpoint INTEGER NOT NULL, record BLOB, head BLOB,
    crc INTEGER NOT NULL,
    UNIQUE (node, nr)
  ) STRICT;
  CREATE TABLE tail (${tailColumns}) STRICT;
  ${waitingTable}
  CREATE TABLE checkpoint (key INTEGER PRIMARY KEY, before INTEGER NOT NULL, head BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;
  ${segmentTable}
  CREATE TABLE range (id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, bits INTEGER NOT NULL, crc INTEGER NOT NULL) STRICT;
  CREATE TABLE posting (key INTEGER PRIMARY KEY, crc INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
  ${timesTable}
  CREATE TABLE redaction (key INTEGER PRIMARY KEY, record BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;
  ${evidenceTable}
  ${introductionTable}
`

/** Opens the log of a topic for its only writing connection; creates it if it does not exist. */
export function openForWriting(file: string, topic: string, kind: TopicKind, sync: DiskSync = diskSync): DatabaseSync {
  const open = (): DatabaseSync => {
    createFile(file, sync)
    return new DatabaseSync(file, { timeout: 5000 })
  }
  return openPrepared(file, open, (database) => {
    refuseForeign(database, file)
    refuseFuture(userVersion(database), file)
    const isNew = userVersion(database) === 0
    // Only effective before the first table is created; an existing file would be written to.
    if (isNew) database.exec(`PRAGMA page_size = ${logPageBytes}; PRAGMA auto_vacuum = INCREMENTAL`)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = FAST')
    database.exec(
      `PRAGMA wal_autocheckpoint = ${checkpointPages}; PRAGMA journal_size_limit = 8388608; PRAGMA cache_size = -8192`,
    )
    if (isNew) create(database, topic, kind)
    checkMeta(database, file, topic, kind)
    quickCheck(database)
  })
}

/** Raises the format version. Called before the first write, which earlier versions would not understand. */
export function upgrade(database: DatabaseSync): void {
  const version = userVersion(database)
  if (version < logFormatVersion) {
    const added = version < 3 ? timesTable : ''
    database.exec(`BEGIN IMMEDIATE; ${added} PRAGMA user_version = ${logFormatVersion}; COMMIT`)
  }
  // Waiting chunks of earlier versions were not verified, or not padded. They are sent again.
  if (!hasWaiting(database)) database.exec(`BEGIN IMMEDIATE; DROP TABLE IF EXISTS waiting; ${waitingTable} COMMIT`)
  if (!hasEvidence(database)) database.exec(evidenceTable)
  if (!hasIntroductions(database)) database.exec(introductionTable)
}

/** Whether the table of waiting chunks has its current form; an earlier version gets it with the first write. */
export function hasWaiting(database: DatabaseSync): boolean {
  return preparedOnce(database, "SELECT 1 FROM pragma_table_info('waiting') WHERE name = 'pad'").get() !== undefined
}

/** A write without effect: sets the format version to its current value. */
export function rewriteVersion(database: DatabaseSync): void {
  database.exec(`PRAGMA user_version = ${userVersion(database)}`)
}

/**
 * Copies the tail to new pages, in the order of its keys. Where SQLite splits and merges pages, stale copies of rows
 * remain in them; pages that were only appended to have none.
 */
export function rewriteTail(database: DatabaseSync): void {
  database.exec(`
    CREATE TABLE fresh (${tailColumns}) STRICT;
    INSERT INTO fresh SELECT * FROM tail ORDER BY key;
    DROP TABLE tail;
    ALTER TABLE fresh RENAME TO tail`)
}

/** Opens the log of a topic read-only. */
export function openForReading(file: string): DatabaseSync {
  const open = (): DatabaseSync => new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  return openPrepared(file, open, (database) => {
    refuseFuture(userVersion(database), file)
    database.exec('PRAGMA cache_size = -4096')
  })
}

/**
 * Refuses a log of a later version before touching it. Only for files that this process does not have open: closing a
 * file releases all POSIX locks that the process has on it.
 */
export function refuseFutureFile(file: string): void {
  const found = translateErrors(file, () => formatOf(file))
  if (found?.applicationId === logApplicationId) refuseFuture(found.userVersion, file)
}

/** Opens and prepares a connection. If preparing it fails, it is closed. */
function openPrepared(file: string, open: () => DatabaseSync, prepare: (database: DatabaseSync) => void): DatabaseSync {
  return translateErrors(file, () => {
    const database = open()
    try {
      prepare(database)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}

export function metaOf(database: DatabaseSync): { topic: string; kind: TopicKind } {
  const value = (name: string): unknown =>
    database.prepare('SELECT value FROM meta WHERE name = ?').get(name)?.['value']
  return { topic: String(value('topic')), kind: value('kind') === 'imported' ? 'imported' : 'live' }
}

/** Topic and kind of a log that is not open for writing. */
export function logMeta(file: string): { topic: string; kind: TopicKind } {
  const database = openForReading(file)
  try {
    return metaOf(database)
  } finally {
    database.close()
  }
}

function userVersion(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
}

function refuseFuture(version: number, file: string): void {
  if (version > logFormatVersion)
    throw new ShoalError(
      'ERR_INVALID_NODE_STATE',
      `Detected future version ${version} of the event log \`${file}\`. Nothing was changed.`,
    )
}

/** A foreign database has another application ID, or tables and no application ID. */
function refuseForeign(database: DatabaseSync, file: string): void {
  const id = Number(database.prepare('PRAGMA application_id').get()?.['application_id'])
  const isNew = id === 0 && database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
  if (id !== logApplicationId && !isNew)
    throw new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` is no event log. Nothing was changed.`)
}

function create(database: DatabaseSync, topic: string, kind: TopicKind): void {
  database.exec(`BEGIN IMMEDIATE; ${tables}`)
  const insert = database.prepare('INSERT INTO meta VALUES (?, ?)')
  insert.run('topic', topic)
  insert.run('kind', kind)
  database.exec(`PRAGMA application_id = ${logApplicationId}; PRAGMA user_version = ${logFormatVersion}; COMMIT`)
}

function checkMeta(database: DatabaseSync, file: string, topic: string, kind: TopicKind): void {
  const meta = metaOf(database)
  if (meta.topic !== topic || meta.kind !== kind)
    throw new ShoalError(
      'ERR_INVALID_NODE_STATE',
      `\`${file}\` holds the ${meta.kind} topic '${meta.topic}', not the ${kind} topic '${topic}'.`,
    )
}

/**
 * Only its last row says where a stream ends: rows lost with a damaged page would go unnoticed, and their offsets would
 * be assigned again. A lost redaction would go unnoticed, too. These tables are small.
 */
function quickCheck(database: DatabaseSync): void {
  for (const table of ['stream', 'tail', 'redaction']) {
    const found = database.prepare(`PRAGMA quick_check(${table})`).get()?.['quick_check']
    if (found !== 'ok') throw new Error(`the table ${table} is damaged: ${String(found)}`)
  }
}

/** Translates errors of opening: after a disk error the file may be intact, after any other it is unusable. */
function translateErrors<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof ShoalError) throw error
    const refused = diskErrorReason(error, file)
    if (refused !== undefined)
      throw new ShoalError('ERR_IO', `\`${file}\` cannot be opened: ${refused}`, { cause: new DiskError(refused) })
    throw new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` cannot be used: ${messageOf(error)}`, { cause: error })
  }
}
