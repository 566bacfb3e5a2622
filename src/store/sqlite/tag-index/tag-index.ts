import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
import { ByteReader, ByteWriter } from '../../../protocol/index.ts'
import { release } from '../../../runtime/buffers.ts'
import { checksum, DamagedData } from '../rows/checksum.ts'
import { readPositions, writePositions } from './position-codec.ts'

/**
 * The index of a range of events of one stream: for the hash of each tag and app ID, the positions of its events.
 * Hashes are distributed over buckets by their first bits, and each bucket is a row: neither the number of rows nor
 * their size depends on the number of distinct tags. Hashes can collide, so candidates are checked.
 */
export interface IndexRange {
  readonly id: number
  readonly stream: number
  readonly first: number
  readonly count: number
  /** Number of leading bits of a hash that select its bucket. */
  readonly bits: number
}

const rangeCrcDomain = Buffer.from('range')
const { appHashSeed, bucketsPerRange, eventsPerRange, tagHashSeed } = format

export function rangeCrc({ id, stream, first, count, bits }: IndexRange): number {
  return checksum(rangeCrcDomain, id * 64 + bits, stream, first, count)
}

/** The rows of a range are contiguous. */
export function postingKey(range: number, bucket: number): number {
  return range * bucketsPerRange + bucket
}

/** Covers the range and the bucket, so that a row is only valid there. */
export function postingCrc({ id, first, bits }: IndexRange, bucket: number, body: Uint8Array): number {
  return checksum(body, postingKey(id, bucket), first, bits)
}

/** Target number of hashes in a bucket. Readers do not depend on it: each range stores its `bits`. */
const hashesPerBucket = 256

/** A 32-bit hash: FNV-1a with a final mix, so that its leading bits are well distributed, too. */
function labelHash(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = seed
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

export function tagHash(tag: string): number {
  const bytes = Buffer.from(tag, 'utf8')
  return labelHash(bytes, 0, bytes.length, tagHashSeed)
}

export function appHash(appId: string): number {
  const bytes = Buffer.from(appId, 'utf8')
  return labelHash(bytes, 0, bytes.length, appHashSeed)
}

function hashOf(pair: number): number {
  return Math.floor(pair / eventsPerRange)
}

/** Digits of the radix sort, from the lowest. */
const digits = { bits: 11, shifts: [0, 11, 22] } as const

/** Hashes, each with a position. */
interface Pairs {
  readonly hashes: Uint32Array
  readonly positions: Uint32Array
}

function newPairs(length: number): Pairs {
  return { hashes: new Uint32Array(length), positions: new Uint32Array(length) }
}

function releasePairs({ hashes, positions }: Pairs): void {
  release(hashes)
  release(positions)
}

/**
 * Sorts pairs by hash: a stable LSD radix sort, alternating between two buffers. Positions are in order already, and
 * stay so within each hash.
 */
function radixSort(pairs: Pairs, other: Pairs, length: number): Pairs {
  let [from, to] = [pairs, other]
  for (const shift of digits.shifts) {
    radixPass(from, to, length, shift)
    ;[from, to] = [to, from]
  }
  return from
}

// One loop per function: on-stack replacement in the first loop would compile the others without type feedback, and be
// deoptimised there with every seal.

function radixPass(from: Pairs, to: Pairs, length: number, shift: number): void {
  const counts = countDigits(from.hashes, length, shift)
  scatter(to, from, length, shift, startsOf(counts))
}

/** The number of hashes with each digit. */
function countDigits(hashes: Uint32Array, length: number, shift: number): Uint32Array {
  const mask = 2 ** digits.bits - 1
  const counts = new Uint32Array(mask + 1)
  for (let i = 0; i < length; i++) {
    const digit = ((hashes[i] as number) >>> shift) & mask
    counts[digit] = (counts[digit] as number) + 1
  }
  return counts
}

/** Replaces the count of each digit by its start: prefix sums, in place. */
function startsOf(counts: Uint32Array): Uint32Array {
  let end = 0
  for (let digit = 0; digit < counts.length; digit++) {
    const start = end
    end += counts[digit] as number
    counts[digit] = start
  }
  return counts
}

function scatter(to: Pairs, { hashes, positions }: Pairs, length: number, shift: number, next: Uint32Array): void {
  const { hashes: toHashes, positions: toPositions } = to
  const mask = next.length - 1
  for (let i = 0; i < length; i++) {
    const hash = hashes[i] as number
    const digit = (hash >>> shift) & mask
    const at = next[digit] as number
    toHashes[at] = hash
    toPositions[at] = positions[i] as number
    next[digit] = at + 1
  }
}

/** Each hash and its position as one number of 52 bits. */
function packed({ hashes, positions }: Pairs, length: number): Float64Array {
  const pairs = new Float64Array(length)
  for (let i = 0; i < length; i++) pairs[i] = (hashes[i] as number) * eventsPerRange + (positions[i] as number)
  return pairs
}

export interface IndexRow {
  readonly bucket: number
  readonly body: Buffer
}

/** A stored row of the index. */
export interface PostingRow {
  readonly crc: number
  readonly body: Uint8Array
}

/** Builds the rows of a range from its events, which are added in the order of their offsets. */
export class IndexBuilder {
  readonly #first: number
  #pairs = newPairs(1 << 16)
  #length = 0

  constructor(first: number) {
    this.#first = first
  }

  /** Adds an event with the hashes of its labels, which may be a part of a list. */
  add(offset: number, hashes: ArrayLike<number>, from = 0, to = hashes.length): void {
    const position = offset - this.#first
    assert(position >= 0 && position < eventsPerRange, 'a range of the index is not too long')
    const at = this.#length
    if (at + to - from > this.#pairs.hashes.length) this.#grow(at + to - from)
    const pairs = this.#pairs
    for (let i = from; i < to; i++) {
      pairs.hashes[at + i - from] = hashes[i] as number
      pairs.positions[at + i - from] = position
    }
    this.#length = at + to - from
  }

  /** All hashes with their positions, in order. */
  pairs(): Float64Array {
    const length = this.#length
    const other = newPairs(length)
    const pairs = packed(radixSort(this.#pairs, other, length), length)
    releasePairs(other)
    return pairs
  }

  /** Encodes the rows and releases the memory; nothing can be added afterwards. */
  finish(): { bits: number; rows: IndexRow[] } {
    const pairs = this.pairs()
    const index = encodeIndex(pairs)
    release(pairs)
    releasePairs(this.#pairs)
    return index
  }

  #grow(needed: number): void {
    const { hashes, positions } = this.#pairs
    const grown = newPairs(Math.max(needed, 2 * hashes.length))
    grown.hashes.set(hashes)
    grown.positions.set(positions)
    releasePairs(this.#pairs)
    this.#pairs = grown
  }
}

/** The hash of the app ID in canonical bytes of labels. */
export function appHashOf(bytes: Buffer, start: number, end: number): number {
  const length = bytes[start] as number
  // Fast path: the length mostly takes one byte.
  if (length < 0x80) return labelHash(bytes, start + 1, start + 1 + length, appHashSeed)
  return labelHashes(bytes, start, end)[0] as number
}

/** The hashes of app ID and tags in canonical bytes of labels. */
export function labelHashes(bytes: Buffer, start: number, end: number): number[] {
  const hashes: number[] = []
  writeLabelHashes(hashes, 0, bytes, start, end)
  return hashes
}

/** Writes these hashes to a list, from an index on. Returns the index after them. */
export function writeLabelHashes(
  hashes: number[] | Uint32Array,
  at: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  const reader = new ByteReader(bytes, start, end)
  let next = at
  const app = reader.skip(reader.uvarint())
  hashes[next++] = labelHash(bytes, app, reader.at, appHashSeed)
  for (let i = reader.uvarint(); i > 0; i--) {
    const tag = reader.skip(reader.uvarint())
    hashes[next++] = labelHash(bytes, tag, reader.at, tagHashSeed)
  }
  return next
}

/** Encodes the rows of a range from all of its pairs, in order. */
export function encodeIndex(pairs: Float64Array): { bits: number; rows: IndexRow[] } {
  let distinct = 0
  for (let at = 0; at < pairs.length; at = afterHash(pairs, at)) distinct++
  const bits = bitsFor(distinct)
  return { bits, rows: encodeBuckets(pairs, bits) }
}

/** The number of bits that distribute hashes over buckets. */
export function bitsFor(distinct: number): number {
  const buckets = Math.min(bucketsPerRange, distinct / hashesPerBucket)
  return Math.max(0, Math.ceil(Math.log2(buckets)))
}

/** Every bucket has a row, even an empty one: a missing row is damage. */
function encodeBuckets(pairs: Float64Array, bits: number): IndexRow[] {
  const rows: IndexRow[] = []
  const writer = new ByteWriter(4096)
  const shift = 2 ** (32 - bits)
  let at = 0
  for (let bucket = 0; bucket < 2 ** bits; bucket++) {
    writer.clear()
    let last = bucket * shift
    const end = (bucket + 1) * shift * eventsPerRange
    while (at < pairs.length && (pairs[at] as number) < end) {
      const hash = hashOf(pairs[at] as number)
      const next = afterHash(pairs, at)
      writer.uvarint(hash - last)
      writePositions(writer, pairs, at, next, hash * eventsPerRange - 1)
      last = hash
      at = next
    }
    rows.push({ bucket, body: writer.copy() })
  }
  return rows
}

/** The end of the pairs with the same hash as the one at `start`. */
function afterHash(pairs: Float64Array, start: number): number {
  const end = (hashOf(pairs[start] as number) + 1) * eventsPerRange
  let at = start + 1
  while (at < pairs.length && (pairs[at] as number) < end) at++
  return at
}

export function bucketOf(hash: number, bits: number): number {
  return Math.floor(hash / 2 ** (32 - bits))
}

/** The positions of a hash in the row of its bucket; `most` for more than half of the range, where a scan is faster. */
export function lookUp(range: IndexRange, { crc, body }: PostingRow, hash: number): number[] | 'most' {
  const { bits } = range
  const bucket = bucketOf(hash, bits)
  if (postingCrc(range, bucket, body) !== crc) throw new DamagedData('a row of the index is damaged')
  const reader = new ByteReader(body)
  const found: number[] = []
  let current = bucket * 2 ** (32 - bits)
  while (reader.remaining > 0) {
    current += reader.uvarint()
    if (current > hash) break
    if (!readPositions(reader, current === hash ? found : undefined, range.count / 2)) return 'most'
  }
  return found
}

/** Calls back with the positions of each of the hashes that is in a row. */
export function lookUpAll(
  range: IndexRange,
  bucket: number,
  { crc, body }: PostingRow,
  hashes: ReadonlySet<number>,
  onFound: (positions: readonly number[]) => void,
): void {
  if (postingCrc(range, bucket, body) !== crc) throw new DamagedData('a row of the index is damaged')
  const reader = new ByteReader(body)
  let current = bucket * 2 ** (32 - range.bits)
  while (reader.remaining > 0) {
    current += reader.uvarint()
    const found: number[] = []
    const isWanted = hashes.has(current)
    readPositions(reader, isWanted ? found : undefined)
    if (isWanted) onFound(found)
  }
}

/** All hashes of a range with their positions, in order, without pruned events. */
export function pairsOf(range: IndexRange, rows: readonly PostingRow[], pruned: number): Float64Array {
  const { bits, first } = range
  const pairs: number[] = []
  const positions: number[] = []
  for (const [bucket, { crc, body }] of rows.entries()) {
    if (postingCrc(range, bucket, body) !== crc) throw new DamagedData('a row of the index is damaged')
    const reader = new ByteReader(body)
    let hash = bucket * 2 ** (32 - bits)
    while (reader.remaining > 0) {
      hash += reader.uvarint()
      positions.length = 0
      readPositions(reader, positions)
      for (const position of positions) if (first + position >= pruned) pairs.push(hash * eventsPerRange + position)
    }
  }
  return new Float64Array(pairs)
}
