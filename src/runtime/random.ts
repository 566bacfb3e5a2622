import { randomFillSync } from 'node:crypto'

/** Random bytes. Those of the system are fit for keys and salts. */
export interface Random {
  /** The bytes are the caller's own. */
  bytes(length: number): Buffer<ArrayBuffer>
}

// A call to the system costs as much as storing several events, so bytes are taken many at a time.
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
    // Bytes that were given out are secrets of the caller: they must not show in a dump of this memory.
    pool.fill(0, used, used + length)
    used += length
    return bytes
  },
}
