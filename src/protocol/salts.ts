import { hash } from 'node:crypto'
import { format } from '../base/format.ts'
import type { Random } from '../runtime/random.ts'

/**
 * Salted payload hashes: the chain covers the hash of salt and payload text. A payload can be redacted without breaking
 * the chain, and it cannot be guessed by brute force without its salt. Salts derive from one random seed per frame: that
 * is 16 incompressible bytes per frame instead of per event.
 */
export const seedLength = 16
export const saltLength = 16

const domain = Buffer.from('shoal/salts/1\0', 'latin1')
const input = Buffer.alloc(domain.length + seedLength)
domain.copy(input)

const salts = Buffer.alloc(saltLength * format.eventsPerFrame)

/**
 * The salts of all events of a frame, concatenated, valid until the next call. The digest goes through a string, which
 * Node creates faster than a buffer.
 */
export function saltsOf(seed: Uint8Array, count: number): Buffer {
  input.set(seed, domain.length)
  const outputLength = saltLength * count
  salts.write(hash('shake128', input, { outputEncoding: 'binary', outputLength }), 'latin1')
  return salts.subarray(0, outputLength)
}

/** A new seed for the salts of a frame. */
export function randomSeed(random: Random): Buffer {
  return random.bytes(seedLength)
}
