import { tuning } from '../../base/tuning.ts'
import { release } from '../../runtime/buffers.ts'

/** Smaller buffers are not pooled. */
const minPooledBytes = tuning.pieceBytes / 2

/** A pool of buffers of sent pieces, reused for the next ones instead of allocating. Each thread has its own. */
export class BufferPool {
  readonly #buffers: ArrayBuffer[] = []
  #bytes = 0

  /** A buffer of at least this size, with undefined contents. */
  take(bytes: number): Buffer<ArrayBuffer> {
    const fits = ({ byteLength }: ArrayBuffer): boolean => byteLength >= bytes && byteLength <= 2 * bytes
    const at = bytes < minPooledBytes ? -1 : this.#buffers.findLastIndex(fits)
    const [memory] = at < 0 ? [] : this.#buffers.splice(at, 1)
    if (memory === undefined) return Buffer.allocUnsafeSlow(bytes)
    this.#bytes -= memory.byteLength
    return Buffer.from(memory)
  }

  /** Adds unused memory to the pool, or frees it when the pool is full. */
  put(memory: ArrayBuffer): void {
    if (!isPoolable(memory) || this.#bytes + memory.byteLength > tuning.sparePieceBytes) {
      release(new Uint8Array(memory))
      return
    }
    this.#buffers.push(memory)
    this.#bytes += memory.byteLength
  }
}

export const bufferPool = new BufferPool()

export function isPoolable({ byteLength }: ArrayBufferLike): boolean {
  return byteLength >= minPooledBytes
}
