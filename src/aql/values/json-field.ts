import type { Value } from './value.ts'

/**
 * The value of one field of an object, without reading all of its JSON text, where that can be told from a few quick looks.
 * Nothing where it cannot, or where there is no such field: then the text has to be read.
 */
export class FieldReader {
  /** The name in quotes, as it stands in a text; nothing when it cannot be searched for. */
  readonly #name: string | undefined

  constructor(name: string) {
    this.#name = unsearchable.test(name) ? undefined : `"${name}"`
  }

  read(text: string): Value | undefined {
    const name = this.#name
    if (name === undefined || text.charCodeAt(0) !== brace) return undefined
    const at = text.indexOf(name)
    if (at < 0 || text.charCodeAt(at + name.length) !== colon) return undefined
    // Within another object it would be another one's. The last one of several counts. With escapes there are other spellings
    // of it, and quotes within strings.
    if (text.indexOf('{', 1) >= 0 || text.indexOf(name, at + 1) >= 0 || text.indexOf('\\') >= 0) return undefined
    return simpleValue(text, at + name.length + 1)
  }
}

/** Names that have another spelling in JSON, and those that may stand between the end of a string and the start of the next. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has them escaped.
const unsearchable = /["\\\u0000-\u001f]|^[\s:,\]}]/

const [brace, braceEnd, colon, comma, quote] = [0x7b, 0x7d, 0x3a, 0x2c, 0x22]
const [minus, point, zero, nine] = [0x2d, 0x2e, 0x30, 0x39]

function isAfter(unit: number): boolean {
  return unit === braceEnd || unit === comma
}

/** The value that begins there, if it is a string, a truth value or a number as most are. */
function simpleValue(text: string, start: number): Value | undefined {
  const first = text.charCodeAt(start)
  if (first === quote) {
    const end = text.indexOf('"', start + 1)
    return isAfter(text.charCodeAt(end + 1)) ? stringBetween(text, start + 1, end) : undefined
  }
  if (first === minus || isDigit(first)) return simpleNumber(text, start)
  for (const [word, value] of words)
    if (text.startsWith(word, start) && isAfter(text.charCodeAt(start + word.length))) return value
  return undefined
}

const words: readonly (readonly [string, Value])[] = [
  ['true', true],
  ['false', false],
]

/** A part of a text is kept together with all of it: where that is much more, it is made anew. */
function stringBetween(text: string, start: number, end: number): string {
  const part = text.slice(start, end)
  return text.length > 2 * part.length + 64 ? (JSON.parse(`"${part}"`) as string) : part
}

/** So many digits are a number that a double has room for. */
const mostDigits = 15

/** Numbers that are whole though they do not look like it, or take care for another reason, are left to others. */
function simpleNumber(text: string, start: number): number | undefined {
  let at = text.charCodeAt(start) === minus ? start + 1 : start
  const whole = at
  while (isDigit(text.charCodeAt(at))) at++
  if (at - whole > mostDigits) return undefined
  let hasFraction = false
  if (text.charCodeAt(at) === point) {
    const next = text.charCodeAt(++at)
    // With so few digits before the point, and neither zeros nor nines behind it, it is no whole number.
    if (next === zero || next === nine) return undefined
    while (isDigit(text.charCodeAt(at))) at++
    hasFraction = true
  }
  if (!isAfter(text.charCodeAt(at))) return undefined
  const value = Number(text.slice(start, at))
  return value === 0 && (hasFraction || whole > start) ? undefined : value
}

function isDigit(unit: number): boolean {
  return unit >= zero && unit <= nine
}
