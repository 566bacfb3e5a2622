import { ByteReader, type Labels, MalformedBytes } from '../../protocol/index.ts'
import type { Block } from './block.ts'
import { readColumn } from './column.ts'
import { parseLabelJson } from './label-json.ts'
import type { LabelMatcher } from './label-matcher.ts'
import { digitsOf, endBytes, lamportAt, putDigits, timeKeyBytes } from './line.ts'

/**
 * A block of a segment: columns of numbers, and the lines of JSON that are ready to be sent but for their lamport
 * timestamps and offsets. An event whose payload was removed has no line.
 */
export class SealedBlock implements Block {
  readonly first: number
  readonly count: number
  readonly lamports: Float64Array
  readonly times: Float64Array
  readonly labelOf: Uint16Array
  readonly bytes: Buffer
  /** Where each line starts in `bytes`, and where the last one ends. */
  readonly lines: Int32Array
  /** Bytes between the digits of the lamport timestamp and those of the offset. */
  readonly #middle: number
  readonly #labelLengths: Int32Array
  /** Of the payloads; 0 where it was removed. */
  readonly #lengths: Int32Array
  readonly #parsed: (Labels | undefined)[] = []

  constructor(bytes: Buffer, first: number) {
    const reader = new ByteReader(bytes)
    const count = reader.uvarint()
    this.bytes = bytes
    this.first = first
    this.count = count
    this.#middle = reader.uvarint()
    this.lamports = readColumn(reader, new Float64Array(count))
    this.times = readColumn(reader, new Float64Array(count))
    this.#labelLengths = readColumn(reader, new Int32Array(reader.uvarint()))
    this.labelOf = readColumn(reader, new Uint16Array(count))
    this.#lengths = readColumn(reader, new Int32Array(count))
    this.lines = this.#lineStarts(reader.at)
    if ((this.lines[count] as number) > bytes.length) throw new MalformedBytes('a block has another length')
  }

  get labelCount(): number {
    return this.#labelLengths.length
  }

  isRemoved(index: number): boolean {
    return this.#lengths[index] === 0
  }

  labels(index: number): Labels {
    const label = this.labelOf[index] as number
    const known = this.#parsed[label]
    if (known !== undefined) return known
    const start = this.#labelAt(index)
    const labels = parseLabelJson(this.bytes, start, start + (this.#labelLengths[label] as number))
    this.#parsed[label] = labels
    return labels
  }

  matches(index: number, matcher: LabelMatcher): boolean {
    const end = this.payloadAt(index)
    return matcher.matchesJson(this.bytes, end - (this.#labelLengths[this.labelOf[index] as number] as number), end)
  }

  payload(index: number): string {
    const start = this.payloadAt(index)
    return this.bytes.toString('utf8', start, start + this.payloadLength(index))
  }

  /** Where the payload of an event begins. */
  payloadAt(index: number): number {
    return (this.lines[index + 1] as number) - endBytes - this.payloadLength(index)
  }

  payloadLength(index: number): number {
    return this.#lengths[index] as number
  }

  lineBytes(from: number, to: number): number {
    return (this.lines[to] as number) - (this.lines[from] as number)
  }

  copyLines(from: number, to: number, target: Buffer, at: number): void {
    const { lines, lamports, first } = this
    const lengths = this.#lengths
    const middle = this.#middle
    const start = lines[from] as number
    this.bytes.copy(target, at, start, lines[to])
    let [lamportDigits, offsetDigits] = [1, 1]
    for (let i = from; i < to; i++) {
      if (lengths[i] === 0) continue
      const lamport = lamports[i] as number
      lamportDigits = digitsOf(lamport, lamportDigits)
      offsetDigits = digitsOf(first + i, offsetDigits)
      const place = at + (lines[i] as number) - start + lamportAt
      putDigits(target, place, lamportDigits, lamport)
      putDigits(target, place + lamportDigits + middle, offsetDigits, first + i)
    }
  }

  #lineStarts(start: number): Int32Array {
    const { count, first, lamports, times, labelOf } = this
    const labelLengths = this.#labelLengths
    const lengths = this.#lengths
    const lines = new Int32Array(count + 1)
    const fixed = lamportAt + this.#middle + timeKeyBytes + endBytes
    let [lamportDigits, offsetDigits, timeDigits] = [1, 1, 1]
    let at = start
    for (let i = 0; i < count; i++) {
      lines[i] = at
      const length = lengths[i] as number
      if (length === 0) continue
      lamportDigits = digitsOf(lamports[i] as number, lamportDigits)
      offsetDigits = digitsOf(first + i, offsetDigits)
      timeDigits = digitsOf(times[i] as number, timeDigits)
      at += fixed + lamportDigits + offsetDigits + timeDigits + (labelLengths[labelOf[i] as number] as number) + length
    }
    lines[count] = at
    return lines
  }

  /** Where the labels of an event begin. */
  #labelAt(index: number): number {
    const label = this.labelOf[index] as number
    const read = this.isRemoved(index) ? this.labelOf.findIndex((l, i) => l === label && !this.isRemoved(i)) : index
    if (read >= 0) return this.payloadAt(read) - (this.#labelLengths[label] as number)
    // Those that no line has stand behind the lines.
    const inLines = new Set(this.labelOf.filter((_, i) => !this.isRemoved(i)))
    let at = this.lines[this.count] as number
    for (let other = 0; other < label; other++) if (!inLines.has(other)) at += this.#labelLengths[other] as number
    return at
  }
}
