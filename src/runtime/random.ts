import { randomFillSync } from 'node:crypto'

/** A source of random bytes. That of the system is cryptographically secure. */
export interface Random {
  /** Returns a new buffer. */
  bytes(length: number): Buffer<ArrayBuffer>
}

// A call to the system costs as much as storing several events, so bytes are taken from a pool.
const pool = Buffer.alloc(4096)
let used = pool.length

export const systemRandom: Random = {
  bytes(length) {
    if (length > pool.length) return randomFillSync(Buffer.alloc(length))
    if (used + length > pool.length) {
      randomFillSync(pool)
      used = 0
    }
    const bytes = Buffer.from(pool.subarray(used, used + length))
    // The returned bytes may be secrets: they must not show in a dump of this memory.
    pool.fill(0, used, used + length)
    used += length
    return bytes
  },
}
