import type { DatabaseSync } from 'node:sqlite'
import { crc32, zstdDecompressSync } from 'node:zlib'
import { DamagedData } from '../sqlite/index.ts'

/** The metadata of a blob. */
export interface BlobRow {
  readonly app: string
  readonly path: string
  readonly type: string
  readonly size: number
  /** Compressed size: bytes of the body. */
  readonly packed: number
  readonly ctime: number
  readonly atime: number | null
}

// With aliases: a damaged schema may have another column name, such as `Atime`.
const columns =
  'app AS app, path AS path, type AS type, size AS size, length(body) AS packed, ctime AS ctime, atime AS atime'

export interface WholeBlobRow extends BlobRow {
  readonly body: Uint8Array
  /** Undefined for a blob of an earlier version that was not read since. */
  readonly bodyCrc: number | undefined
}

/** The checksum of the body, and the checksum of the metadata, which includes it. */
interface Check {
  readonly body: number
  readonly crc: number
}

export function rowCrc({ app, path, type, size, packed, ctime, atime }: BlobRow, body: number): number {
  return crc32(JSON.stringify([app, path, type, size, packed, ctime, atime, body]))
}

function checkRow(row: BlobRow, check: Check | undefined): void {
  if (check !== undefined && rowCrc(row, check.body) !== check.crc) throw damaged(row.app, row.path, 'is damaged')
}

/** The decompressed bytes of a blob. Throws when it is damaged. */
export function checkedBytes({ app, path, size, body, bodyCrc }: WholeBlobRow): Buffer {
  if (bodyCrc !== undefined && crc32(body) !== bodyCrc) throw damaged(app, path, 'is damaged')
  const bytes = unpacked(body, size)
  if (bytes?.length !== size) throw damaged(app, path, 'is damaged')
  return bytes
}

function unpacked(body: Uint8Array, size: number): Buffer | undefined {
  try {
    return zstdDecompressSync(body, { maxOutputLength: size + 64 })
  } catch {
    // The caller throws the error with the name of the blob.
    return undefined
  }
}

function damaged(app: string, path: string, how: string): DamagedData {
  return new DamagedData(`the blob '${path}' of the app '${app}' ${how}`)
}

/** A blob with verified metadata; its body is not verified. Undefined when it does not exist. */
export function blobRow(database: DatabaseSync, app: string, path: string): WholeBlobRow | undefined {
  const row = database
    .prepare(`SELECT ${columns}, body FROM blob WHERE app = ? AND path = ?`)
    .get(app, path) as unknown as Omit<WholeBlobRow, 'bodyCrc'> | undefined
  const check = database
    .prepare('SELECT body, crc FROM blob_check WHERE app = ? AND path = ?')
    .get(app, path) as unknown as Check | undefined
  if (row === undefined && check === undefined) return undefined
  if (row === undefined) throw damaged(app, path, 'is missing')
  if (row.app !== app || row.path !== path) throw damaged(app, path, 'is damaged')
  checkRow(row, check)
  return { ...row, bodyCrc: check?.body }
}

/** The metadata of all blobs below a path. */
export function blobRows(database: DatabaseSync, app: string, prefix: string): BlobRow[] {
  const below = 'WHERE app = ? AND substr(path, 1, ?) = ? ORDER BY path'
  const rows = database
    .prepare(`SELECT ${columns} FROM blob ${below}`)
    .all(app, prefix.length, prefix) as unknown as BlobRow[]
  const checks = database
    .prepare(`SELECT path, body, crc FROM blob_check ${below}`)
    .all(app, prefix.length, prefix) as unknown as (Check & { path: string })[]
  const byPath = new Map(checks.map((check) => [check.path, check]))
  for (const row of rows) {
    checkRow(row, byPath.get(row.path))
    byPath.delete(row.path)
  }
  const [missing] = byPath.keys()
  if (missing !== undefined) throw damaged(app, missing, 'is missing')
  return rows
}
