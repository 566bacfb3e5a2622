import { parseLossless } from './json-lossless.ts'
import type { Value } from './value.ts'

/**
 * Parses a payload. `JSON.parse` turns `2.0` into `2` and rounds long integers. Texts in which that may happen go to
 * the lossless parser; most do not, and checking is much cheaper than parsing.
 */
export function readJson(text: string): Value {
  return mayLosePrecision(text) ? parseLossless(text) : (JSON.parse(text) as Value)
}

/** Whether a text may contain a number that `JSON.parse` would change. Digits in a string are a false positive. */
export function mayLosePrecision(text: string): boolean {
  if (isNumberStart(text.charCodeAt(0))) return true
  // The first search is cheap and rarely matches. The second one excludes most matches within strings.
  if (sixteenDigits.test(text) && longInteger.test(text)) return true
  if (exponent.test(text) && numberWithExponent.test(text)) return true
  return hasMinusZero(text) || hasWholeFraction(text)
}

/** Spelled out, because V8 searches for this much faster than for a quantifier. */
const sixteenDigits = /\d\d\d\d\d\d\d\d\d\d\d\d\d\d\d\d/
/** Integers from about 2^53. */
const longInteger = /[:,[\s]-?(?:9\d{15}|\d{17})/
const exponent = /\d[eE][-+\d]/
const numberWithExponent = /[:,[\s]-?\d+(?:\.\d+)?[eE]/
/**
 * A fraction that is zero, or so close to an integer that a double may not distinguish them. With ten digits before the
 * point, that takes five zeros or nines.
 */
const wholeFraction = /\.(?:0+(?!\d)|00000|99999)/y
/** With this many digits before the point, a double may have no precision left for the fraction. */
const longWhole = /^\d{11}$/

function hasMinusZero(text: string): boolean {
  for (let at = text.indexOf('-0'); at >= 0; at = text.indexOf('-0', at + 2)) {
    const next = text.charCodeAt(at + 2)
    if (next !== point && !isDigit(next) && canPrecedeNumber(text.charCodeAt(at - 1))) return true
  }
  return false
}

/** In JSON a number follows a colon, a comma, a bracket or whitespace. */
function canPrecedeNumber(unit: number): boolean {
  return unit === 0x3a || unit === 0x2c || unit === 0x5b || unit <= 0x20
}

function hasWholeFraction(text: string): boolean {
  for (let at = text.indexOf('.'); at >= 0; at = text.indexOf('.', at + 1)) {
    const next = text.charCodeAt(at + 1)
    if (next === zero || next === nine) {
      wholeFraction.lastIndex = at
      if (wholeFraction.test(text)) return true
    }
    if (isDigit(text.charCodeAt(at - 11)) && longWhole.test(text.slice(at - 11, at))) return true
  }
  return false
}

const [minus, point, zero, nine] = [45, 46, 48, 57]

function isNumberStart(unit: number): boolean {
  return unit === minus || isDigit(unit)
}

function isDigit(unit: number): boolean {
  return unit >= zero && unit <= nine
}
