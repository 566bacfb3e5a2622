import { createHash, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../runtime/random.ts'

/** Crockford's base 32: without letters that look like digits, and without U. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const groups = 5

/** A one-time code of 100 random bits, in groups of four characters. */
export function newClaimCode(random: Random): string {
  const characters = [...random.bytes(groups * 4)].map((byte) => alphabet.charAt(byte % alphabet.length))
  return Array.from({ length: groups }, (_, i) => characters.slice(4 * i, 4 * i + 4).join('')).join('-')
}

/** Compares in constant time. Upper and lower case, dashes and spaces make no difference. */
export function isClaimCode(typed: string, code: string): boolean {
  return timingSafeEqual(digest(typed), digest(code))
}

function digest(code: string): Buffer {
  return createHash('sha256').update(code.toUpperCase().replace(/[\s-]/g, '')).digest()
}
