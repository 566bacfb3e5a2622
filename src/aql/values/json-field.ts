import type { Value } from './value.ts'

/** An object has no such field. */
export const missing = Symbol('missing')

/**
 * Extracts one field of a JSON object without parsing all of it. It only handles common cases, found by a few string
 * searches. It returns `undefined` when it is not sure: then the text has to be parsed.
 */
export class FieldReader {
  /** The quoted name, as it occurs in the text; `undefined` when it cannot be searched for. */
  readonly #name: string | undefined

  constructor(name: string) {
    this.#name = unsearchable.test(name) ? undefined : `"${name}"`
  }

  read(text: string): Value | typeof missing | undefined {
    const name = this.#name
    if (name === undefined || text.charCodeAt(0) !== brace) return undefined
    const at = text.indexOf(name)
    // Escapes allow other spellings of the name.
    if (at < 0) return text.indexOf('\\') < 0 ? missing : undefined
    if (text.charCodeAt(at + name.length) !== colon) return undefined
    // Not safe: in a nested object it may be the field of another object, of duplicates the last one wins, and escapes
    // allow other spellings and quotes within strings.
    if (text.indexOf('{', 1) >= 0 || text.indexOf(name, at + 1) >= 0 || text.indexOf('\\') >= 0) return undefined
    return simpleValue(text, at + name.length + 1)
  }
}

/** Names that JSON escapes, and names that may also match between the end of one string and the start of the next. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has them escaped.
const unsearchable = /["\\\u0000-\u001f]|^[\s:,\]}]/

const [brace, braceEnd, colon, comma, quote] = [0x7b, 0x7d, 0x3a, 0x2c, 0x22]
const [minus, point, zero, nine] = [0x2d, 0x2e, 0x30, 0x39]

function endsValue(unit: number): boolean {
  return unit === braceEnd || unit === comma
}

/** The value that begins there, if it is a string, a boolean or a common number. */
function simpleValue(text: string, start: number): Value | undefined {
  const first = text.charCodeAt(start)
  if (first === quote) {
    const end = text.indexOf('"', start + 1)
    return endsValue(text.charCodeAt(end + 1)) ? stringBetween(text, start + 1, end) : undefined
  }
  if (first === minus || isDigit(first)) return simpleNumber(text, start)
  for (const [word, value] of words)
    if (text.startsWith(word, start) && endsValue(text.charCodeAt(start + word.length))) return value
  return undefined
}

const words: readonly (readonly [string, Value])[] = [
  ['true', true],
  ['false', false],
]

/** A slice keeps the whole parent string in memory. Where the parent is much longer, the slice is copied. */
function stringBetween(text: string, start: number, end: number): string {
  const part = text.slice(start, end)
  return text.length > 2 * part.length + 64 ? (JSON.parse(`"${part}"`) as string) : part
}

/** Integers of up to this many digits are exact as doubles. */
const maxDigits = 15

/** Parses common numbers. Others return `undefined`: integers written as decimals, -0, and long ones. */
function simpleNumber(text: string, start: number): number | undefined {
  let at = text.charCodeAt(start) === minus ? start + 1 : start
  const whole = at
  while (isDigit(text.charCodeAt(at))) at++
  if (at - whole > maxDigits) return undefined
  let hasFraction = false
  if (text.charCodeAt(at) === point) {
    const next = text.charCodeAt(++at)
    // With so few digits before the point, and neither 0 nor 9 after it, the double is not an integer.
    if (next === zero || next === nine) return undefined
    while (isDigit(text.charCodeAt(at))) at++
    hasFraction = true
  }
  if (!endsValue(text.charCodeAt(at))) return undefined
  const value = Number(text.slice(start, at))
  return value === 0 && (hasFraction || whole > start) ? undefined : value
}

function isDigit(unit: number): boolean {
  return unit >= zero && unit <= nine
}
