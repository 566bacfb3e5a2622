import { createHash } from 'node:crypto'

/** Bytes that cannot be compressed, the same in each run; others with another seed. */
export function noise(length: number, seed = 0): Buffer<ArrayBuffer> {
  return Buffer.from(createHash('shake256', { outputLength: length }).update(String(seed)).digest())
}
