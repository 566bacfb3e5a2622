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
 * The rows of one range from those of ranges that follow each other. All of them are in the order of hashes, so they are
 * gone through side by side, once to count the hashes and once to write them: nothing has to be sorted, or be in memory
 * at once but the rows.
 */
export function joinPostings(parts: readonly RangeRows[]): { bits: number; rows: IndexRow[] } {
  let distinct = 0
  for (const side = new SideBySide(parts); side.hash !== undefined; side.pass()) distinct++
  const bits = bitsFor(distinct)
  const side = new SideBySide(parts)
  const rows: IndexRow[] = []
  const writer = new ByteWriter(4096)
  // Every bucket has a row, an empty one too.
  for (let bucket = 0; bucket < 2 ** bits; bucket++) {
    writer.clear()
    let last = bucket * 2 ** (32 - bits)
    while (side.hash !== undefined && bucketOf(side.hash, bits) === bucket) {
      writer.uvarint(side.hash - last)
      last = side.hash
      side.write(writer)
    }
    rows.push({ bucket, body: writer.copy() })
  }
  for (const part of parts) for (const { body } of part.rows) release(body)
  return { bits, rows }
}

/** The hashes of several ranges in order, each one once. */
class SideBySide {
  readonly #cursors: readonly PostingCursor[]
  readonly #joined = new JoinedPositions()
  /** The hash where it stands; nothing after the last one. */
  hash: number | undefined

  constructor(parts: readonly RangeRows[]) {
    const first = parts[0]?.range.first ?? 0
    this.#cursors = parts.map((part) => new PostingCursor(part, part.range.first - first))
    this.#find()
  }

  /** Passes over the positions of the hash. */
  pass(): void {
    for (const cursor of this.#cursors)
      if (cursor.hash === this.hash) {
        readPositions(cursor.reader, undefined)
        cursor.next()
      }
    this.#find()
  }

  /** Writes the positions of the hash in all ranges, and goes on. */
  write(writer: ByteWriter): void {
    const joined = this.#joined.clear()
    for (const cursor of this.#cursors)
      if (cursor.hash === this.hash) {
        joined.add(cursor.reader, cursor.shift)
        cursor.next()
      }
    joined.write(writer)
    this.#find()
  }

  #find(): void {
    let least = Number.POSITIVE_INFINITY
    for (const { hash } of this.#cursors) if (hash < least) least = hash
    this.hash = least === Number.POSITIVE_INFINITY ? undefined : least
  }
}

/** Goes through the hashes of one range. Its positions have to be read, or passed over, before the next one. */
class PostingCursor {
  readonly shift: number
  readonly #part: RangeRows
  #bucket = -1
  reader = new ByteReader(new Uint8Array(0))
  /** Beyond all hashes after the last one. */
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
