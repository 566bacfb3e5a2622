/** The largest opcode of a data frame; control frames are above. */
const largestDataOpcode = 0x2

/** Overhead in bytes of a chunk from the network and of a frame: their objects and allocations. */
const [chunkOverhead, frameOverhead] = [512, 128]

/**
 * Memory accounting for an unfinished WebSocket message: parses the frame headers (RFC 6455, section 5.2). `ws` buffers
 * a fragmented message until its last frame, and has no way to ask for the size of that buffer.
 */
export class UnfinishedMessage {
  /** Bytes, frames and network chunks of the message so far. */
  #bytes = 0
  #frames = 0
  #chunks = 0
  /** Whether a fragmented message has begun and its final frame (FIN) is missing. */
  #isFragmented = false
  /** Missing payload bytes of the current frame, and its kind. */
  #missing = 0
  #isControl = false
  #isLast = true
  /** The received part of the next frame header. */
  readonly #head = new Uint8Array(14)
  #headLength = 0

  /** An estimate of the bytes that `ws` holds for the message. */
  get cost(): number {
    return this.#isUnfinished ? this.#bytes + this.#chunks * chunkOverhead + this.#frames * frameOverhead : 0
  }

  /** Call this with each chunk from the network, before `ws` parses it. */
  add(chunk: Uint8Array): void {
    this.#chunks++
    let at = 0
    while (at < chunk.length) {
      if (this.#missing === 0 && !this.#readHead(chunk[at++] as number)) continue
      const taken = Math.min(this.#missing, chunk.length - at)
      this.#missing -= taken
      at += taken
      if (!this.#isControl) this.#bytes += taken
      if (this.#missing === 0) this.#endFrame()
    }
    // A complete message was emitted: `ws` holds nothing of it.
    if (!this.#isUnfinished) this.#chunks = 0
  }

  get #isUnfinished(): boolean {
    return this.#isFragmented || (this.#missing > 0 && !this.#isControl)
  }

  /** Takes the next byte of the frame header; true when the header is complete. */
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
    // A control frame may be interleaved with the frames of a message.
    if (this.#isControl) return
    this.#isFragmented = !this.#isLast
    this.#frames++
    if (this.#isFragmented) return
    this.#bytes = 0
    this.#frames = 0
  }
}
