import { formatStreamId, nodeIdOf } from '../../identity/index.ts'
import type { Block } from './block.ts'
import type { EventSink } from './cursor.ts'
import type { ReadStream } from './reader.ts'

const head = Buffer.from('{"type":"event","lamport":')
const offsetKey = Buffer.from(',"offset":')
const timeKey = Buffer.from(',"timestamp":')
const newline = 0x0a
const brace = 0x7d
/** More than the numbers and keys of a line take. */
const fixedBytes = 256
/** What a writer begins with: most subscriptions have little to say at a time, and there may be many. */
const firstBytes = 4096

/**
 * Writes events as lines of JSON by copying bytes: neither payloads nor tags are parsed. Where a line does not fit into
 * its capacity any more, it is full; a line that is larger than all of it gets a larger buffer, which is given back.
 */
export class NdjsonWriter implements EventSink {
  readonly #capacity: number
  #buffer: Buffer
  #length = 0
  readonly #streamKeys = new Map<number, Buffer>()
  readonly #lamport = new Decimal()
  readonly #offset = new Decimal()
  readonly #time = new Decimal()

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(capacity, firstBytes))
  }

  get written(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Whether there is no room for another line of the ordinary kind. */
  get isFull(): boolean {
    return this.#length + fixedBytes >= this.#capacity
  }

  clear(): void {
    this.#length = 0
    if (this.#buffer.length > this.#capacity) this.#buffer = Buffer.allocUnsafeSlow(this.#capacity)
  }

  /** Writes a line that somebody else has made. */
  line(text: string): void {
    this.#reserve(3 * text.length + 1)
    this.#length += this.#buffer.write(text, this.#length)
    this.#buffer[this.#length++] = newline
  }

  /** Writes bytes that are lines, or become one. */
  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
  }

  event(stream: ReadStream, block: Block, index: number): boolean {
    const { labels, payloads, bytes } = block
    const label = block.labelOf[index] as number
    const labelStart = labels.spans[2 * label] as number
    const labelEnd = labels.spans[2 * label + 1] as number
    const start = payloads[2 * index] as number
    const end = payloads[2 * index + 1] as number
    this.#reserve(fixedBytes + labelEnd - labelStart + end - start)
    const buffer = this.#buffer
    let at = this.#length
    at = put(buffer, at, head)
    at = this.#lamport.put(buffer, at, block.lamports[index] as number)
    at = put(buffer, at, this.#streamKey(stream))
    at = this.#offset.put(buffer, at, block.first + index)
    at = put(buffer, at, timeKey)
    at = this.#time.put(buffer, at, block.times[index] as number)
    labels.bytes.copy(buffer, at, labelStart, labelEnd)
    at += labelEnd - labelStart
    bytes.copy(buffer, at, start, end)
    at += end - start
    buffer[at++] = brace
    buffer[at++] = newline
    this.#length = at
    return !this.isFull
  }

  #streamKey(stream: ReadStream): Buffer {
    const known = this.#streamKeys.get(stream.number)
    if (known !== undefined) return known
    const id = formatStreamId({ node: nodeIdOf(stream.key.node), number: BigInt(stream.key.number) })
    const key = Buffer.concat([Buffer.from(`,"stream":"${id}"`), offsetKey])
    this.#streamKeys.set(stream.number, key)
    return key
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#buffer.length) return
    const usual = Math.min(this.#capacity, 2 * this.#buffer.length)
    const grown = Buffer.allocUnsafeSlow(Math.max(usual, needed + fixedBytes))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
  }
}

/** For a few bytes a loop is faster than a call. */
function put(buffer: Buffer, at: number, bytes: Buffer): number {
  for (let i = 0; i < bytes.length; i++) buffer[at + i] = bytes[i] as number
  return at + bytes.length
}

/** The digits of numbers that mostly follow each other: then only the last digits change. */
class Decimal {
  #value = -1
  readonly #digits = Buffer.alloc(16)
  #length = 0

  put(buffer: Buffer, at: number, value: number): number {
    if (value !== this.#value) {
      if (value !== this.#value + 1 || !this.#increment()) this.#length = this.#digits.write(String(value), 'latin1')
      this.#value = value
    }
    const digits = this.#digits
    const length = this.#length
    for (let i = 0; i < length; i++) buffer[at + i] = digits[i] as number
    return at + length
  }

  /** Adds one; does nothing when another digit would be needed. */
  #increment(): boolean {
    let i = this.#length - 1
    while (i >= 0 && this.#digits[i] === 0x39) i--
    if (i < 0) return false
    this.#digits[i] = (this.#digits[i] as number) + 1
    this.#digits.fill(0x30, i + 1, this.#length)
    return true
  }
}
