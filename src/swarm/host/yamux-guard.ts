import { MalformedBytes } from '../../protocol/index.ts'

const headerBytes = 12
const dataFrame = 0
const synFlag = 1

/**
 * Follows the frames of a yamux connection by their headers. The library collects a frame completely before it checks
 * its length against the window, so one header could make it collect 4 GiB.
 */
export class YamuxGuard {
  readonly #maxDataBytes: number
  readonly #maxStreams: number
  readonly #header = Buffer.alloc(headerBytes)
  #headerLength = 0
  /** Bytes of the current data frame that have not arrived yet. */
  #dataBytes = 0
  #streams = 0

  /** `maxStreams` counts all streams that the peer opens during the life of the connection. */
  constructor(maxDataBytes: number, maxStreams: number) {
    this.#maxDataBytes = maxDataBytes
    this.#maxStreams = maxStreams
  }

  /** Throws `MalformedBytes`. */
  check(bytes: Uint8Array): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#dataBytes > 0) {
        const skipped = Math.min(this.#dataBytes, bytes.length - at)
        this.#dataBytes -= skipped
        at += skipped
        continue
      }
      const count = Math.min(headerBytes - this.#headerLength, bytes.length - at)
      this.#header.set(bytes.subarray(at, at + count), this.#headerLength)
      this.#headerLength += count
      at += count
      if (this.#headerLength === headerBytes) this.#checkHeader()
    }
  }

  #checkHeader(): void {
    this.#headerLength = 0
    const length = this.#header.readUInt32BE(8)
    const isStream = this.#header.readUInt32BE(4) > 0
    if (isStream && (this.#header.readUInt16BE(2) & synFlag) !== 0 && ++this.#streams > this.#maxStreams)
      throw new MalformedBytes(`more than ${this.#maxStreams} streams`)
    if (this.#header[1] !== dataFrame) return
    if (length > this.#maxDataBytes)
      throw new MalformedBytes(`a frame of ${length} bytes; ${this.#maxDataBytes} are allowed`)
    this.#dataBytes = length
  }
}
