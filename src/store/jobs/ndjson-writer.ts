import { release } from '../../runtime/buffers.ts'
import type { EventBlock, EventSink, ReadStream } from '../port/index.ts'

const [closeObject, newline] = [0x7d, 0x0a]
/** With less free space the buffer counts as full. */
const minFreeBytes = 512
/** Initial size of the buffer: there may be many subscriptions, and most write little at a time. */
const initialBytes = 4096
const noMemory = Buffer.allocUnsafeSlow(0)

/**
 * Copies stored lines without parsing them. `isFull` is set at the capacity; a larger line grows the buffer, and a much
 * larger one is released afterwards. The consumer may take ownership of the buffer, which is then replaced.
 */
export class NdjsonWriter implements EventSink {
  readonly #capacity: number
  #buffer: Buffer<ArrayBuffer>
  /** Size of the buffer, also after it was transferred. */
  #size: number
  #length = 0

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#size = Math.min(capacity, initialBytes)
    this.#buffer = Buffer.allocUnsafeSlow(this.#size)
  }

  /** Size of the buffer; 0 after it was transferred. */
  get heldBytes(): number {
    return this.#buffer.length
  }

  get written(): Buffer<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Whether there is no space for another line of ordinary length. */
  get isFull(): boolean {
    return this.#length + minFreeBytes >= this.#capacity
  }

  clear(): void {
    const isLittle = this.#length * 8 < this.#size && this.#size > initialBytes
    this.#length = 0
    // A transferred buffer is detached and cannot be used.
    if (this.#buffer.length === 0) this.#buffer = noMemory
    else if (isLittle) this.#shrink()
    if (this.#size > 4 * this.#capacity) this.#reallocate(this.#capacity)
  }

  /** Writes a line of text. */
  line(text: string): void {
    this.#reserve(maxBytesOf(text, this.#capacity) + 1)
    this.#length += this.#buffer.write(text, this.#length)
    this.#buffer[this.#length++] = newline
  }

  /** Writes a line that consists of several texts. */
  longLine(parts: readonly string[]): void {
    this.#reserve(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0) + 1)
    for (const part of parts) this.#length += this.#buffer.write(part, this.#length)
    this.#buffer[this.#length++] = newline
  }

  /** Writes whole lines, or parts of one. */
  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** Writes the line of an event with another payload. */
  eventWith(payload: string, block: EventBlock, index: number): void {
    const startBytes = block.lineStartBytes(index)
    this.#reserve(startBytes + maxBytesOf(payload, this.#capacity) + 2)
    block.copyLineStart(index, this.#buffer, this.#length)
    this.#length += startBytes
    this.#length += this.#buffer.write(payload, this.#length)
    this.#buffer[this.#length++] = closeObject
    this.#buffer[this.#length++] = newline
  }

  event(stream: ReadStream, block: EventBlock, index: number): boolean {
    return this.run(stream, block, index, index + 1)
  }

  run(_stream: ReadStream, block: EventBlock, from: number, to: number): boolean {
    const bytes = block.lineBytes(from, to)
    this.#reserve(bytes)
    block.copyLines(from, to, this.#buffer, this.#length)
    this.#length += bytes
    return !this.isFull
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#buffer.length) return
    const isTransferred = this.#buffer.length === 0
    const usual = isTransferred ? this.#size : Math.min(this.#capacity, 2 * this.#size)
    this.#reallocate(Math.max(usual, needed + minFreeBytes))
  }

  /** Shrinks the buffer of a subscription that has caught up. */
  #shrink(): void {
    release(this.#buffer)
    this.#buffer = noMemory
    this.#size = Math.max(initialBytes, this.#size >> 1)
  }

  #reallocate(size: number): void {
    const allocated = Buffer.allocUnsafeSlow(size)
    const previous = this.#buffer
    previous.copy(allocated, 0, 0, this.#length)
    this.#buffer = allocated
    // Immediately: large lines would leave a multiple of their size to the garbage collector.
    if (previous.length > 0) release(previous)
    this.#size = allocated.length
  }
}

/** An upper bound of the bytes of a text. Counting takes time: only for long ones, where a bound wastes megabytes. */
function maxBytesOf(text: string, long: number): number {
  return text.length < long ? 3 * text.length : Buffer.byteLength(text)
}
