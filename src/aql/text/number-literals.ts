import { maxNatural } from '../values/numbers.ts'
import { isDigit } from './characters.ts'
import type { Reader } from './text-reader.ts'

export const tooLarge = 'number too large to fit in target type'

export type NumberLiteral =
  | { readonly kind: 'natural'; readonly value: bigint }
  | { readonly kind: 'decimal'; readonly value: number }

/** Parses a number literal. Without sign and fraction it is a natural if it fits into 64 bits, otherwise a decimal. */
export function readNumber(reader: Reader): NumberLiteral | undefined {
  const { text, at } = reader
  const whole = text[at] === '-' ? at + 1 : at
  let end = digitsEnd(text, whole)
  if (end === whole) return undefined
  const fractionEnd = text[end] === '.' ? digitsEnd(text, end + 1) : end
  if (fractionEnd > end + 1) end = fractionEnd
  reader.advance(end)
  reader.skipTrivia()
  const digits = text.slice(at, end)
  const value = /^\d/.test(digits) && !digits.includes('.') ? naturalOf(digits) : undefined
  return value === undefined ? { kind: 'decimal', value: Number(digits) } : { kind: 'natural', value }
}

/** Parses digits without the trivia after them. */
export function readDigits(reader: Reader): string | undefined {
  const { text, at } = reader
  const end = digitsEnd(text, at)
  if (end === at) {
    reader.miss('natural')
    return undefined
  }
  reader.advance(end)
  return text.slice(at, end)
}

/** The value of digits; `undefined` when it exceeds 64 bits. Leading zeros are cut off before the BigInt conversion. */
export function naturalOf(digits: string): bigint | undefined {
  let start = 0
  while (start < digits.length - 1 && digits[start] === '0') start++
  if (digits.length - start > 20) return undefined
  const value = BigInt(digits.slice(start))
  return value <= maxNatural ? value : undefined
}

function digitsEnd(text: string, start: number): number {
  let at = start
  while (isDigit(text.charCodeAt(at))) at++
  return at
}
