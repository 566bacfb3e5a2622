import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { failure, messageOf, ShoalError } from '../errors.ts'
import { limits } from '../limits.ts'

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

const tables = `
  CREATE TABLE blob (
    app TEXT NOT NULL, path TEXT NOT NULL, type TEXT NOT NULL, size INTEGER NOT NULL, ctime INTEGER NOT NULL, atime INTEGER, body BLOB NOT NULL,
    PRIMARY KEY (app, path)
  ) STRICT;
`
const formatVersion = 1

/** What apps keep for themselves on this node: bytes by path, not replicated. A path is a file or a folder, never both. */
export class BlobStore {
  readonly #database: DatabaseSync
  readonly #now: () => number

  /** `now` answers in milliseconds since the Unix epoch. */
  constructor(file: string, now: () => number) {
    if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
    this.#now = now
    this.#database = new DatabaseSync(file)
    try {
      this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 1048576')
      const version = Number(this.#database.prepare('PRAGMA user_version').get()?.['user_version'])
      if (version > formatVersion) throw new Error(`Detected future version ${version}`)
      if (version === 0)
        this.#database.exec(`BEGIN IMMEDIATE; ${tables} PRAGMA user_version = ${formatVersion}; COMMIT`)
    } catch (error) {
      this.#database.close()
      throw new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` cannot be used: ${messageOf(error)}`, {
        cause: error,
      })
    }
  }

  get(app: string, path: string): Blob | undefined {
    const row = this.#database
      .prepare('UPDATE blob SET atime = ? WHERE app = ? AND path = ? RETURNING type, size, body')
      .get(this.#now(), app, path)
    if (row === undefined) return undefined
    const size = Number(row['size'])
    return {
      type: String(row['type']),
      bytes: zstdDecompressSync(row['body'] as Uint8Array, { maxOutputLength: size + 64 }),
    }
  }

  /** What is directly below a path; nothing when there is nothing. */
  list(app: string, path: string): Map<string, BlobEntry> | undefined {
    const prefix = path === '' ? '' : `${path}/`
    const rows = this.#database
      .prepare(
        'SELECT path, type, size, length(body) AS packed, ctime, atime FROM blob WHERE app = ? AND substr(path, 1, ?) = ? ORDER BY path',
      )
      .all(app, prefix.length, prefix)
    if (rows.length === 0) return undefined
    const entries = new Map<string, BlobEntry>()
    for (const row of rows) {
      const [name = '', ...below] = String(row['path']).slice(prefix.length).split('/')
      const atime = row['atime'] === null ? null : Number(row['atime'])
      const file = {
        originalSize: Number(row['size']),
        compressedSize: Number(row['packed']),
        mimeType: String(row['type']),
        atimeMillis: atime,
        ctimeMillis: Number(row['ctime']),
      }
      entries.set(name, below.length > 0 ? { type: 'folder' } : { type: 'file', ...file })
    }
    return entries
  }

  /** Stores a blob. Whatever was below the path, and any blob that the path goes through, is gone. */
  put(app: string, path: string, { type, bytes }: Blob): void {
    if (bytes.length > limits.blobBytes)
      throw failure('ERR_PAYLOAD_TOO_LARGE', { size: bytes.length, limit: limits.blobBytes })
    const body = zstdCompressSync(bytes)
    if (body.length > limits.packedBlobBytes)
      throw failure('ERR_PAYLOAD_TOO_LARGE', { size: body.length, limit: limits.packedBlobBytes })
    this.#transaction(() => {
      this.#removeBelow(app, path)
      const parts = path.split('/')
      for (let i = 1; i < parts.length; i++) this.#remove(app, parts.slice(0, i).join('/'))
      this.#database
        .prepare(
          'INSERT OR REPLACE INTO blob (app, path, type, size, ctime, atime, body) VALUES (?, ?, ?, ?, ?, NULL, ?)',
        )
        .run(app, path, type, bytes.length, this.#now(), body)
    })
  }

  /** Removes a blob and everything below its path. */
  delete(app: string, path: string): void {
    this.#transaction(() => {
      this.#remove(app, path)
      this.#removeBelow(app, path)
    })
  }

  /** Gives up what is kept for the next call: nobody makes any. */
  rest(): void {
    this.#database.exec('PRAGMA shrink_memory')
  }

  close(): void {
    this.#database.close()
  }

  #remove(app: string, path: string): void {
    this.#database.prepare('DELETE FROM blob WHERE app = ? AND path = ?').run(app, path)
  }

  #removeBelow(app: string, path: string): void {
    const prefix = path === '' ? '' : `${path}/`
    this.#database
      .prepare('DELETE FROM blob WHERE app = ? AND path <> ? AND substr(path, 1, ?) = ?')
      .run(app, path, prefix.length, prefix)
  }

  #transaction(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      work()
      this.#database.exec('COMMIT')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw failure('ERR_STORAGE', { cause: messageOf(error) }, { cause: error })
    }
  }
}
