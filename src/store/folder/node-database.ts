import { chmodSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { messageOf, ShoalError, systemCode } from '../../base/errors.ts'
import { KeyPair, nodeIdOf, type PublicKey } from '../../identity/index.ts'
import type { Random } from '../../runtime/random.ts'
import type { SettingsLog } from '../../settings/index.ts'
import { createFile, type DiskSync, diskSync } from '../disk/sync.ts'
import { sameKey, writersOfFile } from '../sqlite/index.ts'
import { identityRows, type StoredIdentity, soundIdentity } from './node-identity.ts'
import { addSettingsChecksums, openSettingsLog, settingsProblems } from './settings-log.ts'

/** "shol": lets `file` and other tools see whose database this is. */
const applicationId = 0x73686f6c
/**
 * The format of the tables. A higher one is not touched.
 * 1: rows have no checksums.
 * 2: each settings row has one, and so have the key and the start counter; the node ID is stored beside the key.
 * No single flipped bit turns the one number into the other.
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

/** Identity, start counter and settings: small, rarely written, and never lost. */
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
      // It holds the private key: it must not be readable by others for a single moment.
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
   * The node's key, made when there is none, and the number of this start: 0 for the first, then one more each time.
   * `logs` are the event logs of the data folder: a key that an earlier version stored without a checksum is compared
   * with the node that has written them, and no key is made where there are events already.
   */
  beginStart(random: Random, logs: readonly string[] = []): { key: KeyPair; cycle: number } {
    const database = this.#database
    try {
      database.exec('BEGIN IMMEDIATE')
      const stored = this.#identity()
      const { key, cycle: last } = stored ?? this.#newIdentity(random, logs)
      if (stored?.isChecked === false) this.#compareWithLogs(key, logs)
      const cycle = last + 1
      const put = database.prepare(
        'INSERT INTO node VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      )
      for (const [name, value] of identityRows(key, cycle)) put.run(name, value)
      database.exec('COMMIT')
      return { key, cycle }
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw asNodeError(error, this.#file)
    }
  }

  /** The public key of the node, once it was started. */
  get publicKey(): PublicKey | undefined {
    try {
      return this.#identity()?.key.publicKey
    } catch (error) {
      throw asNodeError(error, this.#file)
    }
  }

  /** Reads everything, for `shoal store verify`: what is not as it was written. */
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

  close(): void {
    this.#database.close()
  }

  #identity(): StoredIdentity | undefined {
    const statement = this.#database.prepare('SELECT name, value FROM node')
    // A damaged number may be beyond what a JavaScript number can hold.
    statement.setReadBigInts(true)
    return soundIdentity(new Map(statement.all().map((row) => [row['name'], row['value']])), this.#file)
  }

  #newIdentity(random: Random, logs: readonly string[]): { key: KeyPair; cycle: number } {
    const [log] = logs
    if (log !== undefined) {
      const cause = `\`${this.#file}\` has no private key, but there are events in \`${log}\`. A new key would make another node of it. Put \`node.db\` back from a backup.`
      throw new ShoalError('ERR_INVALID_NODE_STATE', cause)
    }
    return { key: KeyPair.generate(random), cycle: -1 }
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

/** Rows of an earlier version are taken as they are, once; from then on every change of them is noticed. */
function upgrade(database: DatabaseSync): void {
  database.exec(`BEGIN IMMEDIATE; ALTER TABLE settings ADD COLUMN checksum TEXT NOT NULL DEFAULT ''`)
  addSettingsChecksums(database)
  database.exec(`PRAGMA user_version = ${schemaVersion}; COMMIT`)
}

/** What the disk refuses is told as that; anything else means that the file is not what it should be. */
function asNodeError(error: unknown, file: string): ShoalError {
  if (error instanceof ShoalError) return error
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
  const refused = code === undefined ? systemCode(error) !== undefined : diskCodes.has(code)
  const text = `\`${file}\` cannot be used: ${messageOf(error)}`
  return new ShoalError(refused ? 'ERR_IO' : 'ERR_INVALID_NODE_STATE', text, { cause: error })
}

/** SQLITE_READONLY, IOERR, FULL, CANTOPEN. */
const diskCodes = new Set([8, 10, 13, 14])
