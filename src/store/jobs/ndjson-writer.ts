import { release } from '../../runtime/buffers.ts'
import type { EventBlock, EventSink, ReadStream } from '../port/index.ts'

const newline = 0x0a
/** Room that has to be left for there to be a point in another line. */
const leastRoom = 512
/** What a writer begins with: most subscriptions have little to say at a time, and there may be many. */
const firstBytes = 4096
const noMemory = Buffer.allocUnsafeSlow(0)

/**
 * Copies stored lines without parsing them. `isFull` is set at the capacity; a larger line grows the buffer, and a much
 * larger one is released afterwards. The consumer may take ownership of the buffer, which is then replaced.
 */
export class NdjsonWriter implements EventSink {
  readonly #capacity: number
  #buffer: Buffer<ArrayBuffer>
  /** Bytes of the buffer, also when it was taken away. */
  #size: number
  #length = 0

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#size = Math.min(capacity, firstBytes)
    this.#buffer = Buffer.allocUnsafeSlow(this.#size)
  }

  /** Bytes of its buffer, unless that was taken away. */
  get heldBytes(): number {
    return this.#buffer.length
  }

  get written(): Buffer<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Whether there is no room for another line of the ordinary kind. */
  get isFull(): boolean {
    return this.#length + leastRoom >= this.#capacity
  }

  clear(): void {
    const isLittle = this.#length * 8 < this.#size && this.#size > firstBytes
    this.#length = 0
    // Memory that was taken away cannot even be looked at.
    if (this.#buffer.length === 0) this.#buffer = noMemory
    else if (isLittle) this.#shrink()
    if (this.#size > 4 * this.#capacity) this.#renew(this.#capacity)
  }

  /** Writes a line that somebody else has made. */
  line(text: string): void {
    // Counting takes time, which pays off where three times the length would be megabytes for nothing.
    this.#reserve((text.length < this.#capacity ? 3 * text.length : Buffer.byteLength(text)) + 1)
    this.#length += this.#buffer.write(text, this.#length)
    this.#buffer[this.#length++] = newline
  }

  /** Writes bytes that are lines, or become one. */
  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
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
    const isTaken = this.#buffer.length === 0
    const usual = isTaken ? this.#size : Math.min(this.#capacity, 2 * this.#size)
    this.#renew(Math.max(usual, needed + leastRoom))
  }

  /** Shrinks the buffer of a subscription that has caught up. */
  #shrink(): void {
    release(this.#buffer)
    this.#buffer = noMemory
    this.#size = Math.max(firstBytes, this.#size >> 1)
  }

  #renew(size: number): void {
    const renewed = Buffer.allocUnsafeSlow(size)
    const before = this.#buffer
    before.copy(renewed, 0, 0, this.#length)
    this.#buffer = renewed
    // At once: large lines would leave a multiple of themselves to the garbage collector.
    if (before.length > 0) release(before)
    this.#size = renewed.length
  }
}
