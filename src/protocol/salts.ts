import { hash } from 'node:crypto'
import { format } from '../base/format.ts'
import type { Random } from '../runtime/random.ts'

/**
 * A payload goes into the chain as the hash of a salt and its text, so that it can be removed later without breaking the
 * chain, and without anyone being able to find out what it was by trying. A frame has one random seed, from which the
 * salts of its events follow: 16 bytes a frame instead of 16 an event, which no compression can make smaller.
 */
export const seedLength = 16
export const saltLength = 16

const domain = Buffer.from('shoal/salts/1\0', 'latin1')
const input = Buffer.alloc(domain.length + seedLength)
domain.copy(input)

const salts = Buffer.alloc(saltLength * format.eventsPerFrame)

/** The salts of all events of a frame, one after the other, good until somebody asks for others. A string is made faster than a buffer. */
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
