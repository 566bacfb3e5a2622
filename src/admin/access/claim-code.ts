import { createHash, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../runtime/random.ts'

/** Without letters that look like digits, and without U, as in Crockford's base 32. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const groups = 5

/** A one-time code of 100 random bits, in groups of four characters. */
export function newClaimCode(random: Random): string {
  const characters = [...random.bytes(groups * 4)].map((byte) => alphabet.charAt(byte % alphabet.length))
  return Array.from({ length: groups }, (_, i) => characters.slice(4 * i, 4 * i + 4).join('')).join('-')
}

/** Whether a person has typed a code, in upper or lower case, with or without dashes. */
export function isClaimCode(typed: string, code: string): boolean {
  return timingSafeEqual(digest(typed), digest(code))
}

function digest(code: string): Buffer {
  return createHash('sha256').update(code.toUpperCase().replace(/[\s-]/g, '')).digest()
}
