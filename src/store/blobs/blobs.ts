import { existsSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { crc32, zstdCompressSync } from 'node:zlib'
import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { BackgroundReporter } from '../disk/background.ts'
import { CountFile } from '../disk/count-file.ts'
import { openingError, refusalIn, storageError } from '../disk/disk-io-error.ts'
import { createFile, type DiskSync, diskSync } from '../disk/sync.ts'
import { checkWal, type StoreDamage } from '../disk/wal-check.ts'
import { asDamage } from '../sqlite/index.ts'
import { type BlobRow, blobRow, blobRows, checkedBytes, rowCrc, type WholeBlobRow } from './blob-rows.ts'

export interface Blob {
  readonly type: string
  readonly bytes: Buffer
}

export type BlobEntry =
  | { readonly type: 'folder' }
  | {
      readonly type: 'file'
      readonly originalSize: number
      readonly compressedSize: number
      readonly mimeType: string
      readonly atimeMillis: number | null
      readonly ctimeMillis: number
    }

/**
 * The version of the schema. A database of a higher version is not touched.
 * 1: blobs have no checksums.
 * 2: checksums are in a separate table with the same keys, so that a blob that is lost in one of the two is detected.
 */
const formatVersion = 2

const tables = `
  CREATE TABLE blob (
    app TEXT NOT NULL, path TEXT NOT NULL, type TEXT NOT NULL, size INTEGER NOT NULL, ctime INTEGER NOT NULL, atime INTEGER, body BLOB NOT NULL,
    PRIMARY KEY (app, path)
  ) STRICT;
`
const tablesOfVersion2 = `
  CREATE TABLE blob_check (app TEXT NOT NULL, path TEXT NOT NULL, body INTEGER NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (app, path)) STRICT, WITHOUT ROWID;
  CREATE TABLE change (count INTEGER NOT NULL) STRICT;
  INSERT INTO change VALUES (0);
`

export interface BlobStoreOptions {
  readonly sync?: DiskSync
  /** Reports failures of background work. */
  readonly background?: BackgroundReporter
}

/** The blobs of apps: bytes by path, not replicated. A path is a file or a folder, never both. */
export class BlobStore {
  /** Damage that was found while opening. */
  readonly damage: readonly StoreDamage[]
  readonly #database: DatabaseSync
  readonly #file: string
  readonly #countFile: CountFile
  readonly #now: () => number
  readonly #background: BackgroundReporter

  /** @param now the wall clock, in milliseconds since the Unix epoch */
  constructor(
    file: string,
    now: () => number,
    { sync = diskSync, background = new BackgroundReporter() }: BlobStoreOptions = {},
  ) {
    const damagedWal = checkWal(file, { keep: true })
    const isNew = !existsSync(file)
    createFile(file, sync)
    this.#now = now
    this.#file = file
    this.#background = background
    this.#countFile = new CountFile(file, 'changes of blobs', { background, work: 'count_blobs' })
    this.#database = new DatabaseSync(file, { timeout: 5000 })
    try {
      this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 1048576')
      this.#prepareTables()
      const missing = this.#countFile.compare(this.#changes)
      if (damagedWal !== undefined) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      if (missing !== undefined) this.#countFile.record(this.#changes)
      this.damage = [damagedWal, missing].filter((found) => found !== undefined)
    } catch (error) {
      this.#database.close()
      if (isNew) removeDatabase(file)
      throw openingError(error, file, damagedWal?.text)
    }
  }

  size(app: string, path: string): number | undefined {
    const row = this.#database.prepare('SELECT size FROM blob WHERE app = ? AND path = ?').get(app, path)
    return row === undefined ? undefined : Number(row['size'])
  }

  get(app: string, path: string): Blob | undefined {
    const row = asDamage(() => blobRow(this.#database, app, path))
    if (row === undefined) return undefined
    const bytes = checkedBytes(row)
    this.#noteRead(row)
    return { type: row.type, bytes }
  }

  /** The entries directly below a path; undefined when there are none. */
  list(app: string, path: string): Map<string, BlobEntry> | undefined {
    const prefix = path === '' ? '' : `${path}/`
    const rows = asDamage(() => blobRows(this.#database, app, prefix))
    if (rows.length === 0) return undefined
    const entries = new Map<string, BlobEntry>()
    for (const row of rows) {
      const [name = '', ...below] = row.path.slice(prefix.length).split('/')
      const file = {
        originalSize: row.size,
        compressedSize: row.packed,
        mimeType: row.type,
        atimeMillis: row.atime,
        ctimeMillis: row.ctime,
      }
      entries.set(name, below.length > 0 ? { type: 'folder' } : { type: 'file', ...file })
    }
    return entries
  }

  /** Stores a blob. Removes blobs below the path, and blobs at its parents. */
  put(app: string, path: string, { type, bytes }: Blob): void {
    if (bytes.length > limits.blobBytes)
      throw failure('ERR_PAYLOAD_TOO_LARGE', { size: bytes.length, limit: limits.blobBytes })
    const body = zstdCompressSync(bytes)
    if (body.length > limits.compressedBlobBytes)
      throw failure('ERR_PAYLOAD_TOO_LARGE', { size: body.length, limit: limits.compressedBlobBytes })
    this.#transaction(() => {
      const ctime = this.#now()
      this.#removeBelow(app, path)
      const parts = path.split('/')
      for (let i = 1; i < parts.length; i++) this.#remove(app, parts.slice(0, i).join('/'))
      this.#database
        .prepare(
          'INSERT OR REPLACE INTO blob (app, path, type, size, ctime, atime, body) VALUES (?, ?, ?, ?, ?, NULL, ?)',
        )
        .run(app, path, type, bytes.length, ctime, body)
      const row = { app, path, type, size: bytes.length, packed: body.length, ctime, atime: null }
      this.#putCheck(row, crc32(body))
      this.#countChange()
    })
    this.#countFile.record(this.#changes)
  }

  /** Removes a blob and everything below its path. */
  delete(app: string, path: string): void {
    this.#transaction(() => {
      this.#remove(app, path)
      this.#removeBelow(app, path)
      this.#countChange()
    })
    this.#countFile.record(this.#changes)
  }

  /** Writes without changing anything, to check whether the disk works. */
  probe(): void {
    this.#transaction(() => this.#database.exec(`PRAGMA user_version = ${formatVersion}`))
    this.#countFile.record(this.#changes)
    // The read time is written with the next read only, which may never come; if this write works, that one would too.
    this.#background.succeeded('blob_read_time')
  }

  close(): void {
    this.#countFile.close()
    this.#database.close()
  }

  #prepareTables(): void {
    const version = Number(this.#database.prepare('PRAGMA user_version').get()?.['user_version'])
    if (version > formatVersion) throw new Error(`Detected future version ${version}`)
    if (version === formatVersion) return
    const missing = version === 0 ? `${tables} ${tablesOfVersion2}` : tablesOfVersion2
    this.#database.exec(`BEGIN IMMEDIATE; ${missing} PRAGMA user_version = ${formatVersion}; COMMIT`)
  }

  /** The number of changes so far. */
  get #changes(): number {
    return Number(this.#database.prepare('SELECT count FROM change').get()?.['count'] ?? 0)
  }

  #countChange(): void {
    this.#database.exec('UPDATE change SET count = count + 1')
  }

  /** Updates the read time of a blob, and adds the checksum if an earlier version stored it without. */
  #noteRead(row: WholeBlobRow): void {
    const { app, path } = row
    const atime = this.#now()
    try {
      this.#transaction(() => {
        this.#database.prepare('UPDATE blob SET atime = ? WHERE app = ? AND path = ?').run(atime, app, path)
        this.#putCheck({ ...row, atime }, row.bodyCrc ?? crc32(row.body))
      })
      this.#background.succeeded('blob_read_time')
    } catch (error) {
      if (refusalIn(error) === undefined) throw error
      // Blobs can be read on a full disk, so this is only reported.
      this.#background.failed('blob_read_time', error)
    }
  }

  #putCheck(row: BlobRow, body: number): void {
    this.#database
      .prepare('INSERT OR REPLACE INTO blob_check VALUES (?, ?, ?, ?)')
      .run(row.app, row.path, body, rowCrc(row, body))
  }

  #remove(app: string, path: string): void {
    for (const table of ['blob', 'blob_check'])
      this.#database.prepare(`DELETE FROM ${table} WHERE app = ? AND path = ?`).run(app, path)
  }

  #removeBelow(app: string, path: string): void {
    const prefix = path === '' ? '' : `${path}/`
    for (const table of ['blob', 'blob_check'])
      this.#database
        .prepare(`DELETE FROM ${table} WHERE app = ? AND path <> ? AND substr(path, 1, ?) = ?`)
        .run(app, path, prefix.length, prefix)
  }

  #transaction(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      work()
      this.#database.exec('COMMIT')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw storageError(error, this.#file)
    }
  }
}

/** Removes the files of a new database that could not be created. */
function removeDatabase(file: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(file + suffix, { force: true })
}
