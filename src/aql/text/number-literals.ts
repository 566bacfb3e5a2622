import { greatestNatural } from '../values/numbers.ts'
import { isDigit } from './characters.ts'
import type { Reader } from './text-reader.ts'

export const tooLarge = 'number too large to fit in target type'

export type NumberLiteral =
  | { readonly kind: 'natural'; readonly value: bigint }
  | { readonly kind: 'decimal'; readonly value: number }

/** Reads a literal. One without sign and fraction is a natural as long as it has at most 64 bits. */
export function readNumber(reader: Reader): NumberLiteral | undefined {
  const { text, at } = reader
  const whole = text[at] === '-' ? at + 1 : at
  let end = digitsEnd(text, whole)
  if (end === whole) return undefined
  const fractionEnd = text[end] === '.' ? digitsEnd(text, end + 1) : end
  if (fractionEnd > end + 1) end = fractionEnd
  reader.pass(end)
  reader.skip()
  const digits = text.slice(at, end)
  const value = /^\d/.test(digits) && !digits.includes('.') ? naturalOf(digits) : undefined
  return value === undefined ? { kind: 'decimal', value: Number(digits) } : { kind: 'natural', value }
}

/** Reads digits, but not the blanks behind them. */
export function readDigits(reader: Reader): string | undefined {
  const { text, at } = reader
  const end = digitsEnd(text, at)
  if (end === at) {
    reader.miss('natural')
    return undefined
  }
  reader.pass(end)
  return text.slice(at, end)
}

/** The value of digits; nothing when it has more than 64 bits. Zeros in front are cut off before that costs anything. */
export function naturalOf(digits: string): bigint | undefined {
  let start = 0
  while (start < digits.length - 1 && digits[start] === '0') start++
  if (digits.length - start > 20) return undefined
  const value = BigInt(digits.slice(start))
  return value <= greatestNatural ? value : undefined
}

function digitsEnd(text: string, start: number): number {
  let at = start
  while (isDigit(text.charCodeAt(at))) at++
  return at
}
