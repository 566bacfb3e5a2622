import { ByteReader, ByteWriter } from '../../../protocol/index.ts'
import { release } from '../../../runtime/buffers.ts'
import { DamagedData } from '../rows/checksum.ts'
import { JoinedPositions, readPositions } from './position-codec.ts'
import { bitsFor, bucketOf, type IndexRange, type IndexRow, type PostingRow, postingCrc } from './tag-index.ts'

export interface RangeRows {
  readonly range: IndexRange
  readonly rows: readonly PostingRow[]
}

/**
 * Joins the rows of consecutive ranges with a k-way merge, since all are ordered by hash: one pass counts the hashes, a
 * second one writes them. Nothing is sorted, and only the rows are in memory.
 */
export function joinPostings(parts: readonly RangeRows[]): { bits: number; rows: IndexRow[] } {
  let distinct = 0
  for (const merge = new MergeCursor(parts); merge.hash !== undefined; merge.skip()) distinct++
  const bits = bitsFor(distinct)
  const merge = new MergeCursor(parts)
  const rows: IndexRow[] = []
  const writer = new ByteWriter(4096)
  // Every bucket has a row, even an empty one.
  for (let bucket = 0; bucket < 2 ** bits; bucket++) {
    writer.clear()
    let last = bucket * 2 ** (32 - bits)
    while (merge.hash !== undefined && bucketOf(merge.hash, bits) === bucket) {
      writer.uvarint(merge.hash - last)
      last = merge.hash
      merge.write(writer)
    }
    rows.push({ bucket, body: writer.copy() })
  }
  for (const part of parts) for (const { body } of part.rows) release(body)
  return { bits, rows }
}

/** Merges the hashes of several ranges, in order and without duplicates. */
class MergeCursor {
  readonly #cursors: readonly PostingCursor[]
  readonly #joined = new JoinedPositions()
  /** The current hash; undefined at the end. */
  hash: number | undefined

  constructor(parts: readonly RangeRows[]) {
    const first = parts[0]?.range.first ?? 0
    this.#cursors = parts.map((part) => new PostingCursor(part, part.range.first - first))
    this.#findLeast()
  }

  /** Moves to the next hash, and skips the positions of the current one. */
  skip(): void {
    for (const cursor of this.#cursors)
      if (cursor.hash === this.hash) {
        readPositions(cursor.reader, undefined)
        cursor.next()
      }
    this.#findLeast()
  }

  /** Writes the positions of the current hash in all ranges, and moves to the next hash. */
  write(writer: ByteWriter): void {
    const joined = this.#joined.clear()
    for (const cursor of this.#cursors)
      if (cursor.hash === this.hash) {
        joined.add(cursor.reader, cursor.shift)
        cursor.next()
      }
    joined.write(writer)
    this.#findLeast()
  }

  #findLeast(): void {
    let least = Number.POSITIVE_INFINITY
    for (const { hash } of this.#cursors) if (hash < least) least = hash
    this.hash = least === Number.POSITIVE_INFINITY ? undefined : least
  }
}

/** Iterates over the hashes of one range. Positions have to be read or skipped before `next`. */
class PostingCursor {
  readonly shift: number
  readonly #part: RangeRows
  #bucket = -1
  reader = new ByteReader(new Uint8Array(0))
  /** The current hash; infinite at the end. */
  hash = Number.NEGATIVE_INFINITY

  constructor(part: RangeRows, shift: number) {
    this.#part = part
    this.shift = shift
    this.next()
  }

  next(): void {
    const { range, rows } = this.#part
    while (this.reader.remaining === 0) {
      const row = rows[++this.#bucket]
      if (row === undefined) {
        this.hash = Number.POSITIVE_INFINITY
        return
      }
      if (postingCrc(range, this.#bucket, row.body) !== row.crc) throw new DamagedData('a row of the index is damaged')
      this.reader = new ByteReader(row.body)
      this.hash = this.#bucket * 2 ** (32 - range.bits)
    }
    this.hash += this.reader.uvarint()
  }
}
