/** The largest opcode of a frame that is part of a message; those above are control frames. */
const largestDataOpcode = 0x2

/** Bytes that a part from the network, and a frame of a message, cost beside their content: objects, and memory behind them. */
const [partOverhead, frameOverhead] = [512, 128]

/**
 * Follows the frames of a WebSocket (RFC 6455, section 5.2) to tell what an unfinished message takes up. The library keeps
 * all parts of it until the last one has come, and does not tell how much that is.
 */
export class UnfinishedMessage {
  /** Bytes of the message so far, the frames they are in, and the parts in which these came from the network. */
  #bytes = 0
  #frames = 0
  #parts = 0
  /** Whether frames of a message have come, and not the last one. */
  #isFragmented = false
  /** What is missing of the current frame, and what kind of frame it is. */
  #missing = 0
  #isControl = false
  #isLast = true
  /** The head of the next frame, as far as it has come. */
  readonly #head = new Uint8Array(14)
  #headLength = 0

  /** Bytes that the library holds of it, roughly. */
  get cost(): number {
    return this.#isUnfinished ? this.#bytes + this.#parts * partOverhead + this.#frames * frameOverhead : 0
  }

  /** To be called with each part that comes from the network, before it is parsed. */
  add(part: Uint8Array): void {
    this.#parts++
    let at = 0
    while (at < part.length) {
      if (this.#missing === 0 && !this.#readHead(part[at++] as number)) continue
      const taken = Math.min(this.#missing, part.length - at)
      this.#missing -= taken
      at += taken
      if (!this.#isControl) this.#bytes += taken
      if (this.#missing === 0) this.#endFrame()
    }
    // What is complete was handed over: the library keeps nothing of it.
    if (!this.#isUnfinished) this.#parts = 0
  }

  get #isUnfinished(): boolean {
    return this.#isFragmented || (this.#missing > 0 && !this.#isControl)
  }

  /** Takes another byte of the head; answers whether the head is complete. */
  #readHead(byte: number): boolean {
    const head = this.#head
    head[this.#headLength++] = byte
    if (this.#headLength < 2) return false
    const [first, second] = [head[0] as number, head[1] as number]
    const short = second & 0x7f
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0
    const maskBytes = (second & 0x80) === 0 ? 0 : 4
    if (this.#headLength < 2 + lengthBytes + maskBytes) return false
    this.#missing = lengthBytes === 0 ? short : 0
    for (let i = 0; i < lengthBytes; i++) this.#missing = this.#missing * 256 + (head[2 + i] as number)
    this.#isControl = (first & 0x0f) > largestDataOpcode
    this.#isLast = (first & 0x80) !== 0
    this.#headLength = 0
    return true
  }

  #endFrame(): void {
    // A control frame may stand between two frames of a message.
    if (this.#isControl) return
    this.#isFragmented = !this.#isLast
    this.#frames++
    if (this.#isFragmented) return
    this.#bytes = 0
    this.#frames = 0
  }
}
