import type { Block } from './block.ts'
import type { EventSink } from './cursor.ts'
import type { ReadStream } from './reader.ts'

const newline = 0x0a
/** Room that has to be left for there to be a point in another line. */
const leastRoom = 512
/** What a writer begins with: most subscriptions have little to say at a time, and there may be many. */
const firstBytes = 4096

/**
 * Writes events as lines of JSON by copying bytes: nobody looks at them. When it has as much as it should, it says so;
 * what is larger than that gets a larger buffer, and a much larger one is given back.
 */
export class NdjsonWriter implements EventSink {
  readonly #capacity: number
  #buffer: Buffer
  #length = 0

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(capacity, firstBytes))
  }

  get written(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Whether there is no room for another line of the ordinary kind. */
  get isFull(): boolean {
    return this.#length + leastRoom >= this.#capacity
  }

  clear(): void {
    this.#length = 0
    if (this.#buffer.length > 4 * this.#capacity) this.#buffer = Buffer.allocUnsafeSlow(this.#capacity)
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
    return this.run(stream, block, index, index + 1)
  }

  run(_stream: ReadStream, block: Block, from: number, to: number): boolean {
    const bytes = block.lineBytes(from, to)
    this.#reserve(bytes)
    block.copyLines(from, to, this.#buffer, this.#length)
    this.#length += bytes
    return !this.isFull
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#buffer.length) return
    const usual = Math.min(this.#capacity, 2 * this.#buffer.length)
    const grown = Buffer.allocUnsafeSlow(Math.max(usual, needed + leastRoom))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
  }
}
