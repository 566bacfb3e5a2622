import { chmodSync, closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { messageOf, ShoalError, systemCode } from '../errors.ts'
import { KeyPair, type PublicKey, parsePrivateKey } from '../identity/index.ts'
import type { SettingsLog, StoredVersion } from '../settings/index.ts'

/** "shol": lets `file` and other tools see whose database this is. */
const applicationId = 0x73686f6c
const schemaVersion = 1

const tables = `
  CREATE TABLE node (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE settings (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    origin TEXT NOT NULL,
    document TEXT NOT NULL,
    seal TEXT NOT NULL
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
    this.settings = settingsLog(database, file)
  }

  static open(file: string): NodeDatabase {
    try {
      // It holds the private key: it must not be readable by others for a single moment.
      closeSync(openSync(file, 'a', 0o600))
      chmodSync(file, 0o600)
      const database = new DatabaseSync(file)
      prepare(database)
      return new NodeDatabase(database, file)
    } catch (error) {
      if (error instanceof ShoalError) throw error
      throw new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` cannot be used: ${messageOf(error)}`, {
        cause: error,
      })
    }
  }

  /** The node's key, made when there is none, and the number of this start: 0 for the first, then one more each time. */
  beginStart(): { key: KeyPair; cycle: number } {
    const database = this.#database
    try {
      database.exec('BEGIN IMMEDIATE')
      const key = this.#key() ?? this.#newKey()
      const last = this.#value('cycles') ?? -1
      if (typeof last !== 'number' || !Number.isSafeInteger(last + 1))
        throw new ShoalError('ERR_INVALID_NODE_STATE', `The start counter in \`${this.#file}\` is damaged.`)
      this.#setValue('cycles', last + 1)
      database.exec('COMMIT')
      return { key, cycle: last + 1 }
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw asNodeError(error, this.#file)
    }
  }

  /** The public key of the node, once it was started. */
  get publicKey(): PublicKey | undefined {
    return this.#key()?.publicKey
  }

  close(): void {
    this.#database.close()
  }

  #key(): KeyPair | undefined {
    const text = this.#value('private_key')
    if (text === undefined) return undefined
    try {
      return parsePrivateKey(String(text))
    } catch {
      throw new ShoalError('ERR_INVALID_NODE_STATE', `The private key in \`${this.#file}\` is damaged.`)
    }
  }

  #newKey(): KeyPair {
    const key = KeyPair.generate()
    this.#setValue('private_key', key.toPrivateText())
    return key
  }

  #value(name: string): unknown {
    return this.#database.prepare('SELECT value FROM node WHERE name = ?').get(name)?.['value']
  }

  #setValue(name: string, value: string | number): void {
    this.#database
      .prepare('INSERT INTO node VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value')
      .run(name, value)
  }
}

function prepare(database: DatabaseSync): void {
  database.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA foreign_keys = ON')
  const version = database.prepare('PRAGMA user_version').get()?.['user_version']
  if (version === 0) {
    database.exec(`BEGIN IMMEDIATE; ${tables} COMMIT`)
    return
  }
  if (version !== schemaVersion)
    throw new ShoalError('ERR_INVALID_NODE_STATE', `Detected future version ${String(version)} of the node database.`)
  const damage = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check']
  if (damage !== 'ok') throw new ShoalError('ERR_INVALID_NODE_STATE', `The node database is damaged: ${String(damage)}`)
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

function settingsLog(database: DatabaseSync, file: string): SettingsLog {
  const newest = 'SELECT revision, time, origin, document, seal FROM settings ORDER BY revision DESC'
  const one = database.prepare('SELECT revision, time, origin, document, seal FROM settings WHERE revision = ?')
  const reseal = database.prepare('UPDATE settings SET seal = ? WHERE revision = ?')
  const insert = database.prepare('INSERT INTO settings (time, origin, document, seal) VALUES (?, ?, ?, ?)')
  return {
    version: (revision) => one.get(revision) as StoredVersion | undefined,
    versions: () => database.prepare(newest).iterate() as Iterable<unknown> as Iterable<StoredVersion>,
    reseal: (revision, seal) => {
      reseal.run(seal, revision)
    },
    append: ({ time, origin, document, seal }) => {
      try {
        return Number(insert.run(time, origin, document, seal).lastInsertRowid)
      } catch (error) {
        throw asNodeError(error, file)
      }
    },
  }
}
