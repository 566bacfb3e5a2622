import { chmodSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { messageOf, ShoalError, systemCode } from '../../base/errors.ts'
import { sqliteCode, sqliteCodes } from '../../base/sqlite-codes.ts'
import { KeyPair, nodeIdOf, type PublicKey } from '../../identity/index.ts'
import type { Random } from '../../runtime/random.ts'
import type { SettingsLog } from '../../settings/index.ts'
import { copyOpenDatabase } from '../disk/copy-database.ts'
import { createFile, type DiskSync, diskSync } from '../disk/sync.ts'
import { sameKey, writersOfFile } from '../sqlite/index.ts'
import { checkedIdentity, identityRows, type StoredIdentity } from './node-identity.ts'
import { addSettingsChecksums, openSettingsLog, settingsProblems } from './settings-log.ts'

/** "shol": lets `file` and other tools identify the database. */
const applicationId = 0x73686f6c
/**
 * The version of the schema. A database of a higher version is not touched.
 * 1: rows have no checksums.
 * 2: each settings row, the key and the start counter have checksums; the node ID is stored beside the key.
 * No single flipped bit turns 1 into 2 or vice versa.
 */
const schemaVersion = 2

const tables = `
  CREATE TABLE node (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE settings (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    origin TEXT NOT NULL,
    document TEXT NOT NULL,
    seal TEXT NOT NULL,
    checksum TEXT NOT NULL
  ) STRICT;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
`

/** Identity, start counter and settings: small and rarely written. */
export class NodeDatabase {
  readonly settings: SettingsLog
  readonly #database: DatabaseSync
  readonly #file: string

  private constructor(database: DatabaseSync, file: string) {
    this.#database = database
    this.#file = file
    this.settings = openSettingsLog(database, dirname(file), (error) => asNodeError(error, file))
  }

  static open(file: string, sync: DiskSync = diskSync): NodeDatabase {
    let database: DatabaseSync | undefined
    try {
      // It holds the private key, and must never be readable by others.
      createFile(file, sync)
      chmodSync(file, 0o600)
      database = new DatabaseSync(file)
      prepare(database, file)
      return new NodeDatabase(database, file)
    } catch (error) {
      database?.close()
      if (error instanceof ShoalError) throw error
      throw new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` cannot be used: ${messageOf(error)}`, {
        cause: error,
      })
    }
  }

  /**
   * The node's key, generated at the first start, and its start counter, which is 0 then. `logs` are the event logs of
   * the data folder: a key without a checksum, from an earlier version, is compared with the writers of the logs, and
   * no key is generated if there are events.
   */
  beginStart(random: Random, logs: readonly string[] = []): { key: KeyPair; startCounter: number } {
    const database = this.#database
    try {
      database.exec('BEGIN IMMEDIATE')
      const stored = this.#identity()
      const { key, startCounter: last } = stored ?? this.#newIdentity(random, logs)
      if (stored?.isChecked === false) this.#compareWithLogs(key, logs)
      const startCounter = last + 1
      this.#put(key, startCounter)
      database.exec('COMMIT')
      return { key, startCounter }
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw asNodeError(error, this.#file)
    }
  }

  /** The public key of the node; undefined before its first start. */
  get publicKey(): PublicKey | undefined {
    return this.key?.publicKey
  }

  /** The key of the node; undefined before its first start. */
  get key(): KeyPair | undefined {
    try {
      return this.#identity()?.key
    } catch (error) {
      throw asNodeError(error, this.#file)
    }
  }

  /** Gives the node another key; the start counter goes on. */
  replaceKey(key: KeyPair): void {
    const database = this.#database
    try {
      database.exec('BEGIN IMMEDIATE')
      const { startCounter } = this.#identity() ?? { startCounter: -1 }
      this.#put(key, startCounter)
      database.exec('COMMIT')
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw asNodeError(error, this.#file)
    }
  }

  /** Verifies the whole database, for `shoal store verify`. Returns the damage that was found. */
  problems(): string[] {
    const rows = this.#database.prepare('PRAGMA integrity_check(20)').all()
    const structure = rows.map((row) => String(row['integrity_check'])).filter((text) => text !== 'ok')
    const identity: string[] = []
    try {
      this.#identity()
    } catch (error) {
      identity.push(messageOf(error))
    }
    return [...structure, ...identity, ...settingsProblems(this.settings)]
  }

  /** Copies it to a new file, with this connection: another one could make a change of the settings fail. */
  copyTo(target: string): void {
    copyOpenDatabase(this.#database, target)
  }

  close(): void {
    this.#database.close()
  }

  #identity(): StoredIdentity | undefined {
    const statement = this.#database.prepare('SELECT name, value FROM node')
    // A damaged integer may exceed the range of a JavaScript number.
    statement.setReadBigInts(true)
    return checkedIdentity(new Map(statement.all().map((row) => [row['name'], row['value']])), this.#file)
  }

  #put(key: KeyPair, startCounter: number): void {
    const put = this.#database.prepare(
      'INSERT INTO node VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    )
    for (const [name, value] of identityRows(key, startCounter)) put.run(name, value)
  }

  #newIdentity(random: Random, logs: readonly string[]): { key: KeyPair; startCounter: number } {
    const [log] = logs
    if (log !== undefined) {
      const cause = `\`${this.#file}\` has no private key, but there are events in \`${log}\`. A new key would make another node of it. Put \`node.db\` back from a backup.`
      throw new ShoalError('ERR_INVALID_NODE_STATE', cause)
    }
    return { key: KeyPair.generate(random), startCounter: -1 }
  }

  #compareWithLogs({ publicKey }: KeyPair, logs: readonly string[]): void {
    for (const log of logs) {
      const writers = writersOfFile(log)
      if (writers.length === 0 || writers.some((writer) => sameKey(writer, publicKey))) continue
      const cause = `The private key in \`${this.#file}\` is damaged: it is that of the node ${nodeIdOf(publicKey)}, but \`${log}\` was written by ${writers.map(nodeIdOf).join(', ')}. Put \`node.db\` back from a backup.`
      throw new ShoalError('ERR_INVALID_NODE_STATE', cause)
    }
  }
}

function prepare(database: DatabaseSync, file: string): void {
  database.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA foreign_keys = ON')
  const version = database.prepare('PRAGMA user_version').get()?.['user_version']
  if (version === 0) {
    database.exec(`BEGIN IMMEDIATE; ${tables} COMMIT`)
    return
  }
  if (version !== 1 && version !== schemaVersion)
    throw new ShoalError('ERR_INVALID_NODE_STATE', `Detected future version ${String(version)} of the node database.`)
  const damage = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check']
  if (damage !== 'ok')
    throw new ShoalError(
      'ERR_INVALID_NODE_STATE',
      `The node database \`${file}\` is damaged: ${String(damage)}. Put it back from a backup.`,
    )
  if (version === 1) upgrade(database)
}

/** Adds checksums to the rows of an earlier version, which are trusted as they are. */
function upgrade(database: DatabaseSync): void {
  database.exec(`BEGIN IMMEDIATE; ALTER TABLE settings ADD COLUMN checksum TEXT NOT NULL DEFAULT ''`)
  addSettingsChecksums(database)
  database.exec(`PRAGMA user_version = ${schemaVersion}; COMMIT`)
}

/** Disk errors become `ERR_IO`; all others mean that the file is damaged. */
function asNodeError(error: unknown, file: string): ShoalError {
  if (error instanceof ShoalError) return error
  const code = sqliteCode(error)
  const refused = code === undefined ? systemCode(error) !== undefined : diskCodes.has(code)
  const text = `\`${file}\` cannot be used: ${messageOf(error)}`
  return new ShoalError(refused ? 'ERR_IO' : 'ERR_INVALID_NODE_STATE', text, { cause: error })
}

const diskCodes: ReadonlySet<number> = new Set([
  sqliteCodes.readOnly,
  sqliteCodes.ioError,
  sqliteCodes.full,
  sqliteCodes.cannotOpen,
])
