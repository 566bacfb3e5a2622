import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
import { ByteReader, ByteWriter } from '../../../protocol/index.ts'
import { release } from '../../../runtime/buffers.ts'
import { checksum, DamagedData } from '../rows/checksum.ts'
import { readPositions, writePositions } from './position-codec.ts'

/**
 * The index of a range of events of one stream: for the hash of each tag and app ID, the positions of the events that
 * carry it. Hashes are spread over buckets by their first bits, and a bucket is a row, so that neither the number of
 * rows nor their size depends on how many different tags there are. Hashes can collide: hits are checked.
 */
export interface IndexRange {
  readonly id: number
  readonly stream: number
  readonly first: number
  readonly count: number
  /** How many bits of a hash say in which bucket it is. */
  readonly bits: number
}

const rangeMark = Buffer.from('range')
const { appHashSeed, bucketsPerRange, eventsPerRange, tagHashSeed } = format

export function rangeCrc({ id, stream, first, count, bits }: IndexRange): number {
  return checksum(rangeMark, id * 64 + bits, stream, first, count)
}

/** The rows of a range stand side by side. */
export function postingKey(range: number, bucket: number): number {
  return range * bucketsPerRange + bucket
}

/** A row is good in its own range and bucket only. */
export function postingCrc({ id, first, bits }: IndexRange, bucket: number, body: Uint8Array): number {
  return checksum(body, postingKey(id, bucket), first, bits)
}

/** Target number of hashes in a bucket. Readers do not depend on it: each range stores its `bits`. */
const hashesPerBucket = 256

/** A hash of 32 bits: FNV-1a with a final mix, so that its first bits are as good as its last. */
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

/** Digits of hashes by which they are sorted, one after the other from the lowest. */
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
 * Pairs in the order of their hashes. Those of one hash stay as they are, in the order of their positions: so there is
 * nothing to compare, and a few passes that deal them out are enough: from one place to the other and back.
 */
function sort(pairs: Pairs, other: Pairs, length: number): Pairs {
  let [from, to] = [pairs, other]
  for (const shift of digits.shifts) {
    dealOut(from, to, length, shift)
    ;[from, to] = [to, from]
  }
  return from
}

// What follows has one loop in each function: one that is compiled while its first loop runs knows nothing of others, and is
// given up there, with every seal.

function dealOut(from: Pairs, to: Pairs, length: number, shift: number): void {
  const counts = countDigits(from.hashes, length, shift)
  dealTo(to, from, length, shift, startsOf(counts))
}

/** How many hashes have each digit. */
function countDigits(hashes: Uint32Array, length: number, shift: number): Uint32Array {
  const mask = 2 ** digits.bits - 1
  const counts = new Uint32Array(mask + 1)
  for (let i = 0; i < length; i++) {
    const digit = ((hashes[i] as number) >>> shift) & mask
    counts[digit] = (counts[digit] as number) + 1
  }
  return counts
}

/** Where those of each digit begin, in the place of how many they are. */
function startsOf(counts: Uint32Array): Uint32Array {
  let end = 0
  for (let digit = 0; digit < counts.length; digit++) {
    const start = end
    end += counts[digit] as number
    counts[digit] = start
  }
  return counts
}

function dealTo(to: Pairs, { hashes, positions }: Pairs, length: number, shift: number, next: Uint32Array): void {
  const { hashes: dealtHashes, positions: dealtPositions } = to
  const mask = next.length - 1
  for (let i = 0; i < length; i++) {
    const hash = hashes[i] as number
    const digit = (hash >>> shift) & mask
    const at = next[digit] as number
    dealtHashes[at] = hash
    dealtPositions[at] = positions[i] as number
    next[digit] = at + 1
  }
}

/** Each hash and its position as one number. */
function joined({ hashes, positions }: Pairs, length: number): Float64Array {
  const pairs = new Float64Array(length)
  for (let i = 0; i < length; i++) pairs[i] = (hashes[i] as number) * eventsPerRange + (positions[i] as number)
  return pairs
}

export interface IndexRow {
  readonly bucket: number
  readonly body: Buffer
}

/** A row of the index as it is stored. */
export interface PostingRow {
  readonly crc: number
  readonly body: Uint8Array
}

/** Makes the rows of a range from its events, which come in the order of their offsets. */
export class IndexBuilder {
  readonly #first: number
  #pairs = newPairs(1 << 16)
  #length = 0

  constructor(first: number) {
    this.#first = first
  }

  /** Adds an event with the hashes of its labels, all of a list or a part of it. */
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
    const pairs = joined(sort(this.#pairs, other, length), length)
    releasePairs(other)
    return pairs
  }

  /** The rows of all that was added; there is nothing more to add then. */
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

/** The hash of the app of the labels whose canonical bytes stand there. */
export function appHashOf(bytes: Buffer, start: number, end: number): number {
  const length = bytes[start] as number
  // Nearly all are short enough for their length to be one byte.
  if (length < 0x80) return labelHash(bytes, start + 1, start + 1 + length, appHashSeed)
  return labelHashes(bytes, start, end)[0] as number
}

/** The hashes of the app and the tags whose canonical bytes stand there. */
export function labelHashes(bytes: Buffer, start: number, end: number): number[] {
  const hashes: number[] = []
  writeLabelHashes(hashes, 0, bytes, start, end)
  return hashes
}

/** Puts these hashes into a list, from a place on; answers where they end. */
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

/** The rows of a range from all of its hashes with their positions, in order. */
export function encodeIndex(pairs: Float64Array): { bits: number; rows: IndexRow[] } {
  let distinct = 0
  for (let at = 0; at < pairs.length; at = afterHash(pairs, at)) distinct++
  const bits = bitsFor(distinct)
  return { bits, rows: encodeBuckets(pairs, bits) }
}

/** How many bits spread so many hashes over buckets. */
export function bitsFor(distinct: number): number {
  const buckets = Math.min(bucketsPerRange, distinct / hashesPerBucket)
  return Math.max(0, Math.ceil(Math.log2(buckets)))
}

/** Every bucket has a row, an empty one too: a row that is not there is damage, not an answer. */
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

/** Where the pairs end that have the hash of one of them. */
function afterHash(pairs: Float64Array, start: number): number {
  const end = (hashOf(pairs[start] as number) + 1) * eventsPerRange
  let at = start + 1
  while (at < pairs.length && (pairs[at] as number) < end) at++
  return at
}

export function bucketOf(hash: number, bits: number): number {
  return Math.floor(hash / 2 ** (32 - bits))
}

/** The positions of a hash in the row of its bucket; `most` when that are more than half of all: picking them is of no use. */
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

/** Tells the positions of all those hashes that are in a row; each hash once. */
export function lookUpAll(
  range: IndexRange,
  bucket: number,
  { crc, body }: PostingRow,
  hashes: ReadonlySet<number>,
  tell: (positions: readonly number[]) => void,
): void {
  if (postingCrc(range, bucket, body) !== crc) throw new DamagedData('a row of the index is damaged')
  const reader = new ByteReader(body)
  let current = bucket * 2 ** (32 - range.bits)
  while (reader.remaining > 0) {
    current += reader.uvarint()
    const found: number[] = []
    const isWanted = hashes.has(current)
    readPositions(reader, isWanted ? found : undefined)
    if (isWanted) tell(found)
  }
}

/** All hashes of a range with their positions, in order, without those of events that were pruned. */
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
