import { assert } from '../../base/assert.ts'
import { MalformedBytes } from '../../protocol/index.ts'
import { release } from '../../runtime/buffers.ts'

/** What arrives on a stream: a message, or the end of the session with its code. */
export type Frame = { readonly is: 'message'; readonly bytes: Buffer } | { readonly is: 'end'; readonly code: number }

/** Size of the first allocation for a message; it grows with what arrives, not with what the length claims. */
const firstAllocation = 4096

/** The lengths of messages have at most 28 bits. */
const maxLengthBytes = 4

/** The length before a message. */
export function lengthPrefix(length: number): Buffer {
  assert(length > 0 && length < 2 ** 28, 'a message has a length of 1 to 28 bits')
  const bytes: number[] = []
  let rest = length
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  return Buffer.from([...bytes, rest])
}

/** The last frame of a stream: the length 0, and why the session ends. */
export function endFrame(code: number): Buffer {
  return Buffer.of(0, code)
}

/**
 * Splits the bytes of a stream into frames. A length above the limit is refused before memory is taken, and a message
 * takes at most twice the memory of the bytes that have arrived.
 */
export class FrameReader {
  readonly #maxBytes: number
  readonly #input: Uint8Array[] = []
  /** Position in the first piece of the input. */
  #at = 0
  #available = 0
  /** The length of the message that is being read; undefined while the length itself is read. */
  #length: number | undefined
  #message = Buffer.alloc(0)
  #filled = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes that arrived and are not part of a complete frame. */
  get waitingBytes(): number {
    return this.#available + this.#filled
  }

  /** Whether a frame has begun and is not complete. */
  get isWithinFrame(): boolean {
    return this.waitingBytes > 0 || this.#length !== undefined
  }

  /** Drops everything that has arrived. */
  clear(): void {
    this.#input.length = 0
    this.#at = 0
    this.#available = 0
    release(this.#message)
    this.#message = Buffer.alloc(0)
    this.#filled = 0
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#input.push(bytes)
    this.#available += bytes.length
  }

  /** The next complete frame. Throws `MalformedBytes`. */
  next(): Frame | undefined {
    this.#length ??= this.#readLength()
    if (this.#length === undefined) return undefined
    if (this.#length === 0) {
      if (this.#available === 0) return undefined
      this.#length = undefined
      return { is: 'end', code: this.#take() }
    }
    this.#fill(this.#length)
    if (this.#filled < this.#length) return undefined
    const bytes = this.#message.subarray(0, this.#length)
    this.#length = undefined
    this.#message = Buffer.alloc(0)
    this.#filled = 0
    return { is: 'message', bytes }
  }

  /** The length before a message; undefined when it has not arrived completely. */
  #readLength(): number | undefined {
    let length = 0
    for (let i = 0; i < Math.min(this.#available, maxLengthBytes); i++) {
      const byte = this.#peek(i)
      length += (byte & 0x7f) * 2 ** (7 * i)
      if (length > this.#maxBytes)
        throw new MalformedBytes(`a message of at least ${length} bytes; ${this.#maxBytes} are allowed`)
      if (byte > 0x7f) continue
      if (byte === 0 && i > 0) throw new MalformedBytes('a length is not in its shortest form')
      for (let read = 0; read <= i; read++) this.#take()
      return length
    }
    if (this.#available >= maxLengthBytes) throw new MalformedBytes('a length has more than 28 bits')
    return undefined
  }

  #fill(length: number): void {
    while (this.#filled < length) {
      const piece = this.#input[0]
      if (piece === undefined) return
      const count = Math.min(piece.length - this.#at, length - this.#filled)
      this.#reserve(this.#filled + count, length)
      this.#message.set(piece.subarray(this.#at, this.#at + count), this.#filled)
      this.#filled += count
      this.#skip(count)
    }
  }

  #reserve(needed: number, length: number): void {
    if (needed <= this.#message.length) return
    const size = Math.min(length, Math.max(needed, this.#message.length * 2, firstAllocation))
    const grown = Buffer.allocUnsafeSlow(size)
    grown.set(this.#message.subarray(0, this.#filled))
    release(this.#message)
    this.#message = grown
  }

  /** The byte at a position of the input. Only used for the few bytes of a length. */
  #peek(index: number): number {
    let at = this.#at + index
    for (const piece of this.#input) {
      if (at < piece.length) return piece[at] ?? 0
      at -= piece.length
    }
    return 0
  }

  #take(): number {
    const byte = this.#peek(0)
    this.#skip(1)
    return byte
  }

  #skip(count: number): void {
    this.#at += count
    this.#available -= count
    if (this.#at < (this.#input[0]?.length ?? 0)) return
    this.#input.shift()
    this.#at = 0
  }
}
