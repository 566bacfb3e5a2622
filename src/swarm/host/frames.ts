import { assert } from '../../base/assert.ts'
import { MalformedBytes } from '../../protocol/index.ts'
import { release } from '../../runtime/buffers.ts'

/** What arrives on a stream: a message, or the end of the session with its code. */
export type Frame = { readonly is: 'message'; readonly bytes: Buffer } | { readonly is: 'end'; readonly code: number }

/** Sizes of the blocks in which an incomplete message is collected: they grow with what arrives, up to a bound. */
const minBlockBytes = 4096
const maxBlockBytes = 65_536

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
 * Splits the bytes of a stream into frames. A length above the limit is refused before memory is taken. An incomplete
 * message is collected in blocks, which are joined once when it is complete: it never takes more than twice the memory
 * of the bytes that have arrived, or 64 KiB more if that is less.
 */
export class FrameReader {
  /** The maximum length of the next message. */
  maxBytes: number
  readonly #input: Uint8Array[] = []
  /** Position in the first piece of the input. */
  #at = 0
  #available = 0
  /** The length of the message that is being read; undefined while the length itself is read. */
  #length: number | undefined
  /** What has arrived of it, without what is in the input. All blocks but the last one are full. */
  #blocks: Buffer[] = []
  #blockBytes = 0
  #filled = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** Memory of what has arrived and is not part of a complete frame. */
  get heldBytes(): number {
    return this.#available + this.#blockBytes
  }

  /** Whether a frame has begun and is not complete. */
  get isWithinFrame(): boolean {
    return this.heldBytes > 0 || this.#length !== undefined
  }

  /** Drops everything that has arrived. */
  clear(): void {
    this.#input.length = 0
    this.#at = 0
    this.#available = 0
    for (const block of this.#blocks) release(block)
    this.#dropBlocks()
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
    if (this.#filled + this.#available < this.#length) {
      this.#collect(this.#length)
      return undefined
    }
    const bytes = this.#join(this.#length)
    this.#length = undefined
    return { is: 'message', bytes }
  }

  /** The length before a message; undefined when it has not arrived completely. */
  #readLength(): number | undefined {
    let length = 0
    for (let i = 0; i < Math.min(this.#available, maxLengthBytes); i++) {
      const byte = this.#peek(i)
      length += (byte & 0x7f) * 2 ** (7 * i)
      if (length > this.maxBytes)
        throw new MalformedBytes(`a message of at least ${length} bytes; ${this.maxBytes} are allowed`)
      if (byte > 0x7f) continue
      if (byte === 0 && i > 0) throw new MalformedBytes('a length is not in its shortest form')
      for (let read = 0; read <= i; read++) this.#take()
      return length
    }
    if (this.#available >= maxLengthBytes) throw new MalformedBytes('a length has more than 28 bits')
    return undefined
  }

  /** Moves the input into blocks: pieces of few bytes would take much more memory than they have. */
  #collect(length: number): void {
    while (this.#available > 0) {
      if (this.#filled === this.#blockBytes) {
        const size = Math.min(maxBlockBytes, Math.max(minBlockBytes, this.#blockBytes), length - this.#filled)
        this.#blocks.push(Buffer.allocUnsafeSlow(size))
        this.#blockBytes += size
      }
      const block = this.#blocks.at(-1)
      assert(block !== undefined, 'a block with room was added')
      this.#filled += this.#move(block, block.length - (this.#blockBytes - this.#filled))
    }
  }

  /** A complete message, of the blocks and the rest in the input. */
  #join(length: number): Buffer {
    const message = Buffer.allocUnsafeSlow(length)
    let at = 0
    for (const block of this.#blocks) {
      at += block.copy(message, at, 0, Math.min(block.length, this.#filled - at))
      release(block)
    }
    assert(at === this.#filled, 'all that was collected is in the message')
    this.#dropBlocks()
    while (at < length) at += this.#move(message, at)
    return message
  }

  /** Moves bytes of the first piece of the input to a position, as many as fit. */
  #move(to: Buffer, at: number): number {
    const [piece] = this.#input
    assert(piece !== undefined, 'the input has bytes')
    const part = piece.subarray(this.#at, this.#at + to.length - at)
    to.set(part, at)
    this.#skip(part.length)
    return part.length
  }

  #dropBlocks(): void {
    this.#blocks = []
    this.#blockBytes = 0
    this.#filled = 0
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
