import { isUtf8 } from 'node:buffer'
import { assert } from '../base/assert.ts'
import { needsNoEscape, notPlain, viewOf } from '../json/plain-text.ts'

/** Malformed or invalid bytes, from a peer or from a damaged disk. */
export class MalformedBytes extends Error {
  override readonly name = 'MalformedBytes'
}

/** Appends varints, texts and bytes to a growing buffer. */
export class ByteWriter {
  #buffer: Buffer
  /** Created lazily: many writers never need it. */
  #view: DataView | undefined
  #length = 0

  constructor(capacity = 256) {
    this.#buffer = Buffer.allocUnsafeSlow(capacity)
  }

  /** Allocated bytes, used or not. */
  get capacity(): number {
    return this.#buffer.length
  }

  get length(): number {
    return this.#length
  }

  /** A view of the written bytes, valid until the next write. */
  get written(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  /** A copy of the written bytes. */
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

  /** An unsigned varint (LEB128). */
  uvarint(value: number): this {
    this.#reserve(8)
    const buffer = this.#buffer
    let rest = value
    // Above 31 bits by division, below by shifting, which is much faster.
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

  /** A signed varint with zigzag encoding: 0, -1, 1, -2, … as 0, 1, 2, 3, … */
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

  /** Copies a range, two words at a time, which is the fastest way for up to about a hundred bytes. */
  shortBytes(view: DataView, start: number, end: number): this {
    const own = this.#wordsFor(end - start)
    let at = this.#length
    let i = start
    for (; i + 8 <= end; i += 8, at += 8) {
      own.setInt32(at, view.getInt32(i, true), true)
      own.setInt32(at + 4, view.getInt32(i + 4, true), true)
    }
    for (; i < end; i++, at++) own.setUint8(at, view.getUint8(i))
    this.#length = at
    return this
  }

  #copy(at: number, bytes: Uint8Array, start: number, end: number): void {
    const length = end - start
    // For a few bytes a loop is faster than a native call, and a Uint8Array is faster to create than a Buffer.
    if (length <= 24) for (let i = 0; i < length; i++) this.#buffer[at + i] = bytes[start + i] ?? 0
    else if (length === bytes.length) this.#buffer.set(bytes, at)
    else this.#buffer.set(new Uint8Array(bytes.buffer, bytes.byteOffset + start, length), at)
  }

  /** Copies text up to the first byte that needs an escape in a JSON string. Returns whether it copied everything. */
  plainText(view: DataView, start: number, end: number): boolean {
    const own = this.#wordsFor(end - start)
    let at = this.#length
    let i = start
    for (; i + 4 <= end; i += 4, at += 4) {
      const word = view.getInt32(i, true)
      if (notPlain(word) !== 0) break
      own.setInt32(at, word, true)
    }
    for (; i < end; i++, at++) {
      const byte = view.getUint8(i)
      if (!needsNoEscape(byte)) break
      own.setUint8(at, byte)
    }
    this.#length = at
    return i === end
  }

  truncate(length: number): this {
    assert(length <= this.#length, 'a writer is truncated to at most its length')
    this.#length = length
    return this
  }

  /** Appends a copy of bytes that were written before. */
  repeat(start: number, length: number): this {
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

  /** A length-prefixed UTF-8 text. */
  text(text: string): this {
    const length = Buffer.byteLength(text)
    this.uvarint(length)
    this.#reserve(length)
    this.#length += this.#buffer.write(text, this.#length, 'utf8')
    return this
  }

  /** A `DataView` of the buffer, with room for `more` bytes. */
  #wordsFor(more: number): DataView {
    this.#reserve(more)
    this.#view ??= viewOf(this.#buffer)
    return this.#view
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
    this.#view = undefined
  }
}

/** Reads what a `ByteWriter` wrote. Safe on any input: it throws `MalformedBytes` and never reads out of bounds. */
export class ByteReader {
  #view: DataView | undefined
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

  /** A `DataView` of the whole buffer, not only of the range that is read. */
  get view(): DataView {
    this.#view ??= viewOf(this.buffer)
    return this.#view
  }

  byte(): number {
    if (this.at >= this.end) throw new MalformedBytes('unexpected end of bytes')
    return this.buffer[this.at++] as number
  }

  /** An unsigned varint of at most 53 bits. Only the shortest form is allowed, so that the encoding is canonical. */
  uvarint(): number {
    const buffer = this.buffer
    const first = this.byte()
    if (first < 0x80) return first
    // Two parts of 28 bits, since shifting is much faster than multiplying.
    let low = first & 0x7f
    let high = 0
    for (let shift = 7; ; shift += 7) {
      if (shift > 49) throw new MalformedBytes('a varint is too large')
      if (this.at >= this.end) throw new MalformedBytes('unexpected end of bytes')
      const byte = buffer[this.at++] as number
      if (shift < 28) low |= (byte & 0x7f) << shift
      else high |= (byte & 0x7f) << (shift - 28)
      if (byte >= 0x80) continue
      if (byte === 0) throw new MalformedBytes('a varint is not in its shortest form')
      break
    }
    if (high >= 2 ** 25) throw new MalformedBytes('a varint is too large')
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

  /** Skips bytes. Returns the position where they start. */
  skip(length: number): number {
    const start = this.at
    if (length > this.end - start) throw new MalformedBytes('unexpected end of bytes')
    this.at = start + length
    return start
  }

  /** Skips a length-prefixed text. The length is mostly one byte, which is the fast path. */
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

  /** Checks that no bytes are left. */
  finish(): void {
    if (this.at !== this.end) throw new MalformedBytes('trailing bytes')
  }
}
