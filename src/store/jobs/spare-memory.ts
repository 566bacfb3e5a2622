import { tuning } from '../../base/tuning.ts'
import { release } from '../../runtime/buffers.ts'

/** Smaller pieces of memory are not worth keeping. */
const leastBytes = tuning.pieceBytes / 2

/**
 * Memory of pieces that have been sent, for the next ones, instead of giving it back to the system and asking for
 * more. Each thread has its own.
 */
export class SpareMemory {
  readonly #spare: ArrayBuffer[] = []
  #bytes = 0

  /** A buffer of at least so many bytes; what stands in it is of no use. */
  take(bytes: number): Buffer<ArrayBuffer> {
    const fits = ({ byteLength }: ArrayBuffer): boolean => byteLength >= bytes && byteLength <= 2 * bytes
    const at = bytes < leastBytes ? -1 : this.#spare.findLastIndex(fits)
    const [memory] = at < 0 ? [] : this.#spare.splice(at, 1)
    if (memory === undefined) return Buffer.allocUnsafeSlow(bytes)
    this.#bytes -= memory.byteLength
    return Buffer.from(memory)
  }

  /** Keeps memory that nobody looks at any more, as far as there is to be any. */
  give(memory: ArrayBuffer): void {
    if (!isWorthKeeping(memory) || this.#bytes + memory.byteLength > tuning.piecePoolBytes) {
      release(new Uint8Array(memory))
      return
    }
    this.#spare.push(memory)
    this.#bytes += memory.byteLength
  }
}

export const spareMemory = new SpareMemory()

export function isWorthKeeping({ byteLength }: ArrayBufferLike): boolean {
  return byteLength >= leastBytes
}
