import { isUtf8 } from 'node:buffer'
import { assert } from '../base/assert.ts'
import { notPlain, standsForItself, wordsOf } from '../json/plain-text.ts'

/** Bytes that are not what they should be: from a peer, or from a damaged disk. */
export class MalformedBytes extends Error {
  override readonly name = 'MalformedBytes'
}

/** Writes numbers, texts and bytes one after the other into a buffer that grows. */
export class ByteWriter {
  #buffer: Buffer
  /** Made when they are needed first: many writers only write a little. */
  #words: DataView | undefined
  #length = 0

  constructor(capacity = 256) {
    this.#buffer = Buffer.allocUnsafeSlow(capacity)
  }

  /** Bytes of memory, also of what is not used yet. */
  get capacity(): number {
    return this.#buffer.length
  }

  get length(): number {
    return this.#length
  }

  /** What was written so far: a view that is good until the next write. */
  get written(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  /** A copy of what was written. */
  copy(): Buffer {
    return Buffer.from(this.written)
  }

  clear(): this {
    this.#length = 0
    return this
  }

  byte(value: number): this {
    this.#reserve(1)
    this.#buffer[this.#length++] = value
    return this
  }

  /** An unsigned number in base 128, the low digits first. */
  uvarint(value: number): this {
    this.#reserve(8)
    const buffer = this.#buffer
    let rest = value
    // Above 31 bits the digits are cut off by division, below that by shifting, which is much faster.
    while (rest > 0x7fffffff) {
      buffer[this.#length++] = (rest % 128) | 0x80
      rest = Math.floor(rest / 128)
    }
    while (rest > 0x7f) {
      buffer[this.#length++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    buffer[this.#length++] = rest
    return this
  }

  /** A number of either sign: 0, -1, 1, -2, … as 0, 1, 2, 3, … */
  varint(value: number): this {
    return this.uvarint(value < 0 ? -2 * value - 1 : 2 * value)
  }

  bytes(bytes: Uint8Array, start = 0, end = bytes.length): this {
    const at = this.#length
    this.#reserve(end - start)
    this.#length = at + end - start
    this.#copy(at, bytes, start, end)
    return this
  }

  /** Up to about a hundred bytes of those whose words are given: that few are copied fastest like this. */
  short(words: DataView, start: number, end: number): this {
    const own = this.#wordsFor(end - start)
    let at = this.#length
    let i = start
    for (; i + 8 <= end; i += 8, at += 8) {
      own.setInt32(at, words.getInt32(i, true), true)
      own.setInt32(at + 4, words.getInt32(i + 4, true), true)
    }
    for (; i < end; i++, at++) own.setUint8(at, words.getUint8(i))
    this.#length = at
    return this
  }

  #copy(at: number, bytes: Uint8Array, start: number, end: number): void {
    const length = end - start
    // Copying a few bytes by hand is faster than calling out, and a plain view is made faster than a buffer.
    if (length <= 24) for (let i = 0; i < length; i++) this.#buffer[at + i] = bytes[start + i] ?? 0
    else if (length === bytes.length) this.#buffer.set(bytes, at)
    else this.#buffer.set(new Uint8Array(bytes.buffer, bytes.byteOffset + start, length), at)
  }

  /** A part of a text, up to where it does not stand for itself in the JSON of a string; answers whether that is its end. */
  plainText(words: DataView, start: number, end: number): boolean {
    const own = this.#wordsFor(end - start)
    let at = this.#length
    let i = start
    for (; i + 4 <= end; i += 4, at += 4) {
      const word = words.getInt32(i, true)
      if (notPlain(word) !== 0) break
      own.setInt32(at, word, true)
    }
    for (; i < end; i++, at++) {
      const byte = words.getUint8(i)
      if (!standsForItself(byte)) break
      own.setUint8(at, byte)
    }
    this.#length = at
    return i === end
  }

  /** Takes back what was written after so many bytes. */
  cut(length: number): this {
    assert(length <= this.#length, 'what is cut was written')
    this.#length = length
    return this
  }

  /** So many bytes once more that were written before. */
  again(start: number, length: number): this {
    this.#reserve(length)
    this.#buffer.copyWithin(this.#length, start, start + length)
    this.#length += length
    return this
  }

  latin1(text: string): this {
    this.#reserve(text.length)
    this.#length += this.#buffer.write(text, this.#length, 'latin1')
    return this
  }

  /** The length in bytes, then the text. */
  text(text: string): this {
    const length = Buffer.byteLength(text)
    this.uvarint(length)
    this.#reserve(length)
    this.#length += this.#buffer.write(text, this.#length, 'utf8')
    return this
  }

  /** The words of the buffer, with room for so many bytes more. */
  #wordsFor(more: number): DataView {
    this.#reserve(more)
    this.#words ??= wordsOf(this.#buffer)
    return this.#words
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
    this.#words = undefined
  }
}

/** Reads what a `ByteWriter` wrote. Whatever the bytes are, it throws `MalformedBytes` or answers within their bounds. */
export class ByteReader {
  #words: DataView | undefined
  readonly buffer: Buffer
  at: number
  readonly end: number

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.at = start
    this.end = end
  }

  get remaining(): number {
    return this.end - this.at
  }

  /** The words of all bytes, not only of those that are read. */
  get words(): DataView {
    this.#words ??= wordsOf(this.buffer)
    return this.#words
  }

  byte(): number {
    if (this.at >= this.end) throw new MalformedBytes('the bytes end too early')
    return this.buffer[this.at++] as number
  }

  /** An unsigned number of at most 53 bits in its shortest form: there is one spelling of each number. */
  uvarint(): number {
    const buffer = this.buffer
    const first = this.byte()
    if (first < 0x80) return first
    // Two halves of 28 bits, since shifting is much faster than multiplying.
    let low = first & 0x7f
    let high = 0
    for (let shift = 7; ; shift += 7) {
      if (shift > 49) throw new MalformedBytes('a number is too large')
      if (this.at >= this.end) throw new MalformedBytes('the bytes end too early')
      const byte = buffer[this.at++] as number
      if (shift < 28) low |= (byte & 0x7f) << shift
      else high |= (byte & 0x7f) << (shift - 28)
      if (byte >= 0x80) continue
      if (byte === 0) throw new MalformedBytes('a number is not in its shortest form')
      break
    }
    if (high >= 2 ** 25) throw new MalformedBytes('a number is too large')
    return high * 2 ** 28 + low
  }

  varint(): number {
    const value = this.uvarint()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  /** A view of the next bytes. */
  bytes(length: number): Buffer {
    return this.buffer.subarray(this.skip(length), this.at)
  }

  /** Where the bytes that are passed over begin. */
  skip(length: number): number {
    const start = this.at
    if (length > this.end - start) throw new MalformedBytes('the bytes end too early')
    this.at = start + length
    return start
  }

  /** Passes over a text and its length, which is mostly one byte. */
  skipText(): void {
    const { at, buffer, end } = this
    const length = at < end ? (buffer[at] as number) : 0x80
    if (length < 0x80 && length < end - at) this.at = at + 1 + length
    else this.skip(this.uvarint())
  }

  text(maxLength: number): string {
    const length = this.uvarint()
    if (length > maxLength) throw new MalformedBytes(`a text has more than ${maxLength} bytes`)
    const bytes = this.bytes(length)
    if (!isUtf8(bytes)) throw new MalformedBytes('a text is not UTF-8')
    return bytes.toString('utf8')
  }

  /** Nothing may follow. */
  finish(): void {
    if (this.at !== this.end) throw new MalformedBytes('there are bytes after the end')
  }
}
