import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { zstdDecompressSync } from 'node:zlib'
import { ByteReader } from '../../src/protocol/index.ts'
import { SealedBlock } from '../../src/store/sqlite/read/sealed-block.ts'
import { rowKey } from '../../src/store/sqlite/rows/row-key.ts'
import { blockColumns } from '../../src/store/sqlite/rows/segment-columns.ts'

/** The baseline: plain rows in SQLite with the same durability. */
export class BareRows {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  readonly #select: StatementSync

  constructor(file: string) {
    this.#database = new DatabaseSync(file)
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    this.#database.exec('CREATE TABLE IF NOT EXISTS row (key INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT')
    this.#insert = this.#database.prepare('INSERT INTO row (body) VALUES (?)')
    this.#select = this.#database.prepare('SELECT body FROM row WHERE key = ?')
  }

  /** One row, one commit. */
  commit(body: Uint8Array): void {
    this.#insert.run(body)
  }

  /** Many rows in one commit, with the keys 1, 2, 3, … */
  fill(bodies: Iterable<Uint8Array>): void {
    this.#database.exec('BEGIN')
    for (const body of bodies) this.#insert.run(body)
    this.#database.exec('COMMIT')
  }

  read(key: number): Uint8Array {
    return this.#select.get(key)?.['body'] as Uint8Array
  }

  close(): void {
    this.#database.close()
  }
}

/** A compressed block of the store. */
export interface BareBlock {
  /** The offset of its first event. */
  readonly first: number
  readonly packed: Uint8Array
  readonly raw: number
}

/** Reads the compressed blocks of a store. */
export class StoredBlocks {
  readonly #database: DatabaseSync
  readonly #segments: readonly { readonly first: number; readonly count: number; readonly size: number }[]
  readonly #blocks: StatementSync

  constructor(file: string) {
    this.#database = new DatabaseSync(file, { readOnly: true })
    this.#segments = this.#database
      .prepare('SELECT key, count, size FROM segment WHERE key < ? ORDER BY key')
      .all(rowKey(1, 0))
      .map((row) => ({ first: Number(row['key']), count: Number(row['count']), size: Number(row['size']) }))
    this.#blocks = this.#database.prepare(`SELECT ${blockColumns.join(', ')} FROM segment WHERE key = ?`)
  }

  get sealedEvents(): number {
    const last = this.#segments.at(-1)
    return last === undefined ? 0 : last.first + last.count
  }

  /** Whole segments with about a number of events, from a relative position on: 0 is the start, 1 the end. */
  window(part: number, events: number): { first: number; count: number; blocks: BareBlock[] } {
    const furthest = Math.max(0, this.sealedEvents - events)
    const at = this.#segments.findLastIndex(({ first }) => first <= part * furthest)
    const blocks: BareBlock[] = []
    const first = this.#segments[at]?.first ?? 0
    let count = 0
    for (const segment of this.#segments.slice(at)) {
      if (count >= events) break
      blocks.push(...this.#blocksOf(segment))
      count += segment.count
    }
    return { first, count, blocks }
  }

  /** The distinct blocks that contain these events. */
  holding(offsets: Iterable<number>): BareBlock[] {
    const found = new Map<number, BareBlock>()
    for (const offset of offsets) {
      const segment = this.#segments.findLast(({ first }) => first <= offset) ?? { first: 0, size: 1 }
      const index = Math.floor((offset - segment.first) / segment.size)
      const block = this.#blocksOf(segment)[index] as BareBlock
      found.set(block.first, block)
    }
    return [...found.values()]
  }

  close(): void {
    this.#database.close()
  }

  #blocksOf({ first, size }: { readonly first: number; readonly size: number }): BareBlock[] {
    const columns = Object.values(this.#blocks.get(first) ?? {})
    return columns
      .filter((column) => column instanceof Uint8Array)
      .map((column, i) => {
        const reader = new ByteReader(column)
        const raw = reader.uvarint()
        // Skips the checksum.
        reader.uvarint()
        return { first: first + i * size, packed: column.slice(reader.at), raw }
      })
  }
}

/** With a known size, as the store does it; otherwise the baseline would be slower. */
export function decompressed({ packed, raw }: Omit<BareBlock, 'first'>): Buffer {
  return zstdDecompressSync(packed, { chunkSize: raw + 64 })
}

const piece = Buffer.alloc(256 * 1024)

/** Decompresses and concatenates blocks. */
export function concatenate(blocks: readonly BareBlock[]): void {
  let length = 0
  for (const block of blocks) {
    const bytes = decompressed(block)
    if (length + bytes.length > piece.length) length = 0
    bytes.copy(piece, length)
    length += bytes.length
  }
}

/** The start and end of each payload in a decompressed block. */
export function payloadsAt(packed: BareBlock): Int32Array {
  const block = new SealedBlock(decompressed(packed), packed.first)
  return Int32Array.from(Array.from({ length: block.count }, (_, i) => block.payloadSpan(i)).flat())
}

/** Decompresses blocks and parses their payloads. */
export function parseAll(blocks: readonly BareBlock[], places: readonly Int32Array[]): number {
  let events = 0
  for (const [i, block] of blocks.entries()) {
    const bytes = decompressed(block)
    const payloads = places[i] as Int32Array
    for (let at = 0; at < payloads.length; at += 2) {
      const { id } = JSON.parse(bytes.toString('utf8', payloads[at], payloads[at + 1])) as { id?: number }
      if (id !== undefined) events++
    }
  }
  return events
}
