import { createHash } from 'node:crypto'

/** Incompressible pseudo-random bytes, the same in each run for the same seed. */
export function noise(length: number, seed = 0): Buffer<ArrayBuffer> {
  return Buffer.from(createHash('shake256', { outputLength: length }).update(String(seed)).digest())
}
