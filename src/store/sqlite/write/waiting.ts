import type { DatabaseSync } from 'node:sqlite'
import {
  readChunk,
  unlessMalformed,
  verifyFrom,
  type WaitingChunk,
  type WaitingRoom,
} from '../../../replication/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { hasWaiting } from '../log-database.ts'
import { preparedOnce } from '../prepared.ts'
import { checksum, DamagedData } from '../rows/checksum.ts'
import { padding } from '../rows/padding.ts'
import { rowKey } from '../rows/row-key.ts'

interface WaitingRow {
  readonly key: number
  readonly before: Uint8Array
  readonly chunk: Uint8Array
  /** A number, as text. */
  readonly crc: string
}

/** The chunks of a log that wait for earlier ones. Mostly there are none, which is remembered. */
export class WaitingTable {
  readonly #log: { readonly database: DatabaseSync }
  #isEmpty: boolean | undefined

  constructor(log: { readonly database: DatabaseSync }) {
    this.#log = log
  }

  get database(): DatabaseSync {
    return this.#log.database
  }

  get isEmpty(): boolean {
    // The table of an earlier version is replaced with the first write.
    this.#isEmpty ??=
      !hasWaiting(this.database) || preparedOnce(this.database, 'SELECT 1 FROM waiting LIMIT 1').get() === undefined
    return this.#isEmpty
  }

  ofStream(stream: StreamNumber): WaitingRows {
    return new WaitingRows(this, stream)
  }

  /** Rows may have been added or removed. */
  changed(): void {
    this.#isEmpty = undefined
  }
}

/** The rows of a stream. They are a cache: one that cannot be read is sent again. */
class WaitingRows {
  readonly #table: WaitingTable
  readonly #stream: StreamNumber

  constructor(table: WaitingTable, stream: StreamNumber) {
    this.#table = table
    this.#stream = stream
  }

  get #database(): DatabaseSync {
    return this.#table.database
  }

  keep({ chunk, signedBefore }: WaitingChunk, bytes: Uint8Array): void {
    this.#table.changed()
    const row = { key: rowKey(this.#stream, chunk.first), before: signedBefore, chunk: bytes }
    const crc = crcOf(row)
    // Padded like a segment: no payload is in a page of the b-tree, which could keep a copy of it.
    this.#database
      .prepare('INSERT OR REPLACE INTO waiting (key, crc, pad, before, chunk) VALUES (?, ?, ?, ?, ?)')
      .run(row.key, crc, padding([crc], [row.before, row.chunk]), row.before, row.chunk)
  }

  /** The chunks that start at or before an offset. */
  upTo(offset: number): WaitingChunk[] {
    return this.#between(0, offset)
  }

  room(): WaitingRoom {
    const bounds = [rowKey(this.#stream, 0), rowKey(this.#stream + 1, 0)] as const
    const stream = this.#usage('WHERE key >= ? AND key < ?', ...bounds)
    const all = (): WaitingRoom['all'] => this.#usage('')
    return {
      stream,
      // Counted when it is asked for: that of all streams takes longer.
      get all() {
        return all()
      },
      at: (first) => this.#between(first, first)[0],
    }
  }

  /** Drops the chunks that start at or before an offset. */
  dropUpTo(offset: number): void {
    if (this.#table.isEmpty) return
    this.#table.changed()
    const sql = 'DELETE FROM waiting WHERE key >= ? AND key <= ?'
    preparedOnce(this.#database, sql).run(rowKey(this.#stream, 0), rowKey(this.#stream, offset))
  }

  #between(from: number, to: number): WaitingChunk[] {
    if (this.#table.isEmpty) return []
    // The checksum as text: damage can make it a number that JavaScript cannot represent.
    const rows = this.#database
      .prepare('SELECT key, before, chunk, CAST(crc AS TEXT) AS crc FROM waiting WHERE key >= ? AND key <= ?')
      .all(rowKey(this.#stream, from), rowKey(this.#stream, to)) as unknown as WaitingRow[]
    return rows
      .filter(isSound)
      .map(({ before, chunk }) => unlessMalformed(() => verifyFrom(before, readChunk(chunk))))
      .filter((waiting) => waiting !== undefined)
  }

  #usage(where: string, ...bounds: readonly number[]): WaitingRoom['all'] {
    if (this.#table.isEmpty) return { chunks: 0, bytes: 0 }
    // The length of a blob is known without reading it.
    const sql = `SELECT count(*) AS chunks, total(length(chunk) + length(before)) AS bytes FROM waiting ${where}`
    const row = preparedOnce(this.#database, sql).get(...bounds)
    return { chunks: Number(row?.['chunks']), bytes: Number(row?.['bytes']) }
  }
}

function isSound(row: WaitingRow): boolean {
  try {
    return String(crcOf(row)) === row.crc
  } catch (error) {
    if (error instanceof DamagedData) return false
    throw error
  }
}

function crcOf({ key, before, chunk }: Omit<WaitingRow, 'crc'>): number {
  return (checksum(chunk, key) ^ checksum(before, 1)) >>> 0
}
