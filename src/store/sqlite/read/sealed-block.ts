import { assert } from '../../../base/assert.ts'
import { digitsOf, putDigits } from '../../../base/digits.ts'
import { ByteReader, type Labels, MalformedBytes } from '../../../protocol/index.ts'
import { release } from '../../../runtime/buffers.ts'
import { readColumn } from '../rows/column.ts'
import type { LabelMatcher } from '../tag-index/label-matcher.ts'
import { endBytes, lamportAt, timeKeyBytes } from './event-line.ts'
import { parseLabelJson } from './label-json.ts'
import type { LabelledBlock } from './labelled-block.ts'

/** Columns that are decoded lazily: plain copies of lines do not need them. */
interface Details {
  readonly times: Float64Array
  readonly labelLengths: Int32Array
  readonly labelOf: Uint16Array
  /** Where each payload starts. */
  readonly payloads: Int32Array
}

/**
 * A block of a segment: columns of numbers, and the lines of JSON, complete except for lamport timestamps and offsets.
 * A redacted event has no line.
 */
export class SealedBlock implements LabelledBlock {
  readonly first: number
  readonly count: number
  readonly lamports: Float64Array
  readonly bytes: Buffer
  /** Where each line starts in `bytes`, and where the last one ends. */
  readonly lines: Int32Array
  /** Bytes between the digits of the lamport timestamp and those of the offset. */
  readonly #middle: number
  /** Ownership: whether the first reader is done, whether the block is cached, whether other readers share it. */
  #isDisposed = false
  #isCached = false
  #isShared = false
  #known: Details | undefined
  readonly #parsed: (Labels | undefined)[] = []

  constructor(bytes: Buffer, first: number) {
    const reader = new ByteReader(bytes)
    const count = reader.uvarint()
    this.bytes = bytes
    this.first = first
    this.count = count
    this.#middle = reader.uvarint()
    // One allocation: several would take longer than filling them.
    const memory = new ArrayBuffer(12 * count + 4)
    this.lamports = readColumn(reader, new Float64Array(memory, 0, count))
    this.lines = new Int32Array(memory, 8 * count, count + 1)
    readColumn(reader, this.lines.subarray(0, count))
    this.#placeLines(reader.at)
  }

  get heldBytes(): number {
    return this.bytes.length
  }

  get times(): Float64Array {
    return this.#details.times
  }

  get labelOf(): Uint16Array {
    return this.#details.labelOf
  }

  get labelCount(): number {
    return this.#details.labelLengths.length
  }

  isRedacted(index: number): boolean {
    return this.lines[index] === this.lines[index + 1]
  }

  labels(index: number): Labels {
    const label = this.labelOf[index] as number
    const known = this.#parsed[label]
    if (known !== undefined) return known
    const labels = parseLabelJson(this.bytes, ...this.#labelSpan(index))
    this.#parsed[label] = labels
    return labels
  }

  matches(index: number, matcher: LabelMatcher): boolean {
    const { payloads, labelLengths, labelOf } = this.#details
    const end = payloads[index] as number
    return matcher.matchesJson(this.bytes, end - (labelLengths[labelOf[index] as number] as number), end)
  }

  payload(index: number): string {
    return this.bytes.toString('utf8', this.#details.payloads[index], (this.lines[index + 1] as number) - endBytes)
  }

  /** Start and end of the payload of an event; empty if it was redacted. */
  payloadSpan(index: number): [number, number] {
    const [start, end] = [this.#details.payloads[index] as number, this.lines[index + 1] as number]
    return [start, this.isRedacted(index) ? start : end - endBytes]
  }

  lineBytes(from: number, to: number): number {
    return (this.lines[to] as number) - (this.lines[from] as number)
  }

  copyLines(from: number, to: number, target: Buffer, at: number): void {
    const { lines } = this
    const shift = at - (lines[from] as number)
    this.bytes.copy(target, at, lines[from], lines[to])
    this.#putNumbers(from, to, target, shift)
  }

  lineStartBytes(index: number): number {
    assert(!this.isRedacted(index), 'an event with a line')
    return (this.#details.payloads[index] as number) - (this.lines[index] as number)
  }

  copyLineStart(index: number, target: Buffer, at: number): void {
    const start = this.lines[index] as number
    this.bytes.copy(target, at, start, this.#details.payloads[index])
    this.#putNumbers(index, index + 1, target, at - start)
  }

  /** Fills in the lamport timestamps and offsets of lines, `shift` bytes after their position in the block. */
  #putNumbers(from: number, to: number, target: Buffer, shift: number): void {
    const { lines, lamports, first } = this
    const middle = this.#middle
    let [lamportDigits, offsetDigits] = [1, 1]
    for (let i = from; i < to; i++) {
      if (lines[i] === lines[i + 1]) continue
      const lamport = lamports[i] as number
      lamportDigits = digitsOf(lamport, lamportDigits)
      offsetDigits = digitsOf(first + i, offsetDigits)
      const place = (lines[i] as number) + shift + lamportAt
      putDigits(target, place, lamportDigits, lamport)
      putDigits(target, place + lamportDigits + middle, offsetDigits, first + i)
    }
  }

  onCached(): void {
    this.#isCached = true
  }

  onShared(): void {
    this.#isShared = true
  }

  dispose(): void {
    this.#isDisposed = true
    this.#releaseUnused()
  }

  onEvicted(): void {
    this.#isCached = false
    this.#releaseUnused()
  }

  /** A shared block is not released explicitly but left to the garbage collector: its readers are not counted. */
  #releaseUnused(): void {
    if (!this.#isDisposed || this.#isCached || this.#isShared) return
    release(this.bytes)
    release(this.lines)
    if (this.#known !== undefined) release(this.#known.times)
  }

  /** Converts the lengths of the lines to positions. */
  #placeLines(start: number): void {
    const { lines, count } = this
    let at = start
    for (let i = 0; i < count; i++) {
      const length = lines[i] as number
      lines[i] = at
      at += length
    }
    lines[count] = at
    if (at > this.bytes.length)
      throw new MalformedBytes(`a block has ${this.bytes.length} bytes, expected at least ${at}`)
  }

  get #details(): Details {
    this.#known ??= this.#readDetails()
    return this.#known
  }

  #readDetails(): Details {
    const { count, first, bytes, lamports, lines } = this
    const reader = new ByteReader(bytes, lines[count])
    const memory = new ArrayBuffer(18 * count)
    const times = readColumn(reader, new Float64Array(memory, 0, count))
    const labelLengths = readColumn(reader, new Int32Array(memory, 8 * count, Math.min(reader.uvarint(), count)))
    const labelOf = readColumn(reader, new Uint16Array(memory, 16 * count, count))
    const payloads = new Int32Array(memory, 12 * count, count)
    const keys = lamportAt + this.#middle + timeKeyBytes
    let [lamportDigits, offsetDigits, timeDigits] = [1, 1, 1]
    for (let i = 0; i < count; i++) {
      lamportDigits = digitsOf(lamports[i] as number, lamportDigits)
      offsetDigits = digitsOf(first + i, offsetDigits)
      timeDigits = digitsOf(times[i] as number, timeDigits)
      const digits = lamportDigits + offsetDigits + timeDigits
      payloads[i] = (lines[i] as number) + keys + digits + (labelLengths[labelOf[i] as number] as number)
    }
    return { times, labelLengths, labelOf, payloads }
  }

  /** Start and end of the labels of an event. */
  #labelSpan(index: number): [number, number] {
    const { labelLengths, labelOf, payloads } = this.#details
    const label = labelOf[index] as number
    const read = this.isRedacted(index) ? labelOf.findIndex((l, i) => l === label && !this.isRedacted(i)) : index
    const end = read < 0 ? this.#unreadEnd(label) : (payloads[read] as number)
    return [end - (labelLengths[label] as number), end]
  }

  /** Labels that are in no line are stored at the end. */
  #unreadEnd(label: number): number {
    const { labelLengths, labelOf } = this.#details
    const inLines = new Set(labelOf.filter((_, i) => !this.isRedacted(i)))
    let end = this.bytes.length
    for (let other = labelLengths.length - 1; other > label; other--)
      if (!inLines.has(other)) end -= labelLengths[other] as number
    return end
  }
}
