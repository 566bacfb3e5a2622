import { readLosslessly } from './json-lossless.ts'
import type { Value } from './value.ts'

/**
 * The value of a payload. `JSON.parse` takes `2.0` for `2` and rounds long integers, so texts in which that could
 * happen are read with care; most are not of that kind, and finding out is much cheaper than reading.
 */
export function readJson(text: string): Value {
  return isDoubtful(text) ? readLosslessly(text) : (JSON.parse(text) as Value)
}

/** Whether a text may have a number that `JSON.parse` does not keep. What looks like one in a string may count too. */
export function isDoubtful(text: string): boolean {
  if (isNumberStart(text.charCodeAt(0))) return true
  // The first of two searches is quick and finds almost nothing; the second one does not fall for what is in strings.
  if (sixteenDigits.test(text) && longInteger.test(text)) return true
  if (exponent.test(text) && numberWithExponent.test(text)) return true
  return minusZero.test(text) || hasWholeFraction(text)
}

/** Spelled out, since the engine searches for this much faster than for a count. */
const sixteenDigits = /\d\d\d\d\d\d\d\d\d\d\d\d\d\d\d\d/
/** From 2^53 on, roughly. */
const longInteger = /[:,[\s]-?(?:9\d{15}|\d{17})/
const exponent = /\d[eE][-+\d]/
const numberWithExponent = /[:,[\s]-?\d+(?:\.\d+)?[eE]/
const minusZero = /-0(?![.\d])/
/** A fraction that is zero, or may be rounded to a whole number together with what is before it. */
const wholeFraction = /\.(?:0+(?!\d)|[09]\d{3})/y
const longWhole = /^\d{11}$/

function hasWholeFraction(text: string): boolean {
  for (let at = text.indexOf('.'); at >= 0; at = text.indexOf('.', at + 1)) {
    wholeFraction.lastIndex = at
    // With eleven digits before the point a double may have no room for what is behind it.
    if (wholeFraction.test(text) || longWhole.test(text.slice(Math.max(at - 11, 0), at))) return true
  }
  return false
}

function isNumberStart(unit: number): boolean {
  return unit === 45 || isDigit(unit)
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57
}
