import { lengthPrefix } from './frames.ts'

/** Bytes for a stream, and the sizes of the messages that end in them. */
export interface Slice {
  readonly bytes: Buffer
  readonly completed: readonly number[]
}

interface Piece {
  readonly bytes: Uint8Array
  /** The size of the message that ends with this piece. */
  readonly message: number | undefined
}

/** The messages that wait to be sent on a stream. They are handed out in slices, with small messages joined into one. */
export class SendQueue {
  #pieces: Piece[] = []
  /** Index of the first unsent piece, and the position in it. */
  #first = 0
  #at = 0
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  /** Whether the last slice ended with a message, so that the next bytes begin a frame. */
  get isAtBorder(): boolean {
    return this.#at === 0 && (this.#first === 0 || this.#pieces[this.#first - 1]?.message !== undefined)
  }

  /** The bytes must not be changed until they are sent. */
  push(message: Uint8Array): void {
    this.#add({ bytes: lengthPrefix(message.length), message: undefined })
    this.#add({ bytes: message, message: message.length })
  }

  /** Appends bytes that are a whole frame. */
  pushFrame(bytes: Uint8Array): void {
    this.#add({ bytes, message: 0 })
  }

  /** Removes the next bytes from the queue, at most `size`. */
  take(size: number): Slice {
    const bytes = Buffer.allocUnsafeSlow(Math.min(size, this.#bytes))
    const completed: number[] = []
    let filled = 0
    while (filled < bytes.length) {
      const piece = this.#pieces[this.#first]
      if (piece === undefined) break
      const count = Math.min(piece.bytes.length - this.#at, bytes.length - filled)
      bytes.set(piece.bytes.subarray(this.#at, this.#at + count), filled)
      filled += count
      this.#at += count
      if (this.#at < piece.bytes.length) break
      this.#at = 0
      this.#first++
      if (piece.message !== undefined && piece.message > 0) completed.push(piece.message)
    }
    this.#bytes -= filled
    this.#shrink()
    return { bytes, completed }
  }

  /** Drops everything. Frames that were sent in part stay incomplete. */
  clear(): void {
    this.#pieces = []
    this.#first = 0
    this.#at = 0
    this.#bytes = 0
  }

  #add(piece: Piece): void {
    this.#pieces.push(piece)
    this.#bytes += piece.bytes.length
  }

  /** Drops sent pieces now and then: removing each from the front of a long array would be quadratic. */
  #shrink(): void {
    const isSent = this.#first === this.#pieces.length
    if (!isSent && this.#first < 256) return
    // The last sent piece stays when it is a length: its message has not been sent.
    const sent = isSent ? this.#first : this.#first - 1
    this.#pieces.splice(0, sent)
    this.#first -= sent
  }
}
