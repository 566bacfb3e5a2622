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
  return hasMinusZero(text) || hasWholeFraction(text)
}

/** Spelled out, since the engine searches for this much faster than for a count. */
const sixteenDigits = /\d\d\d\d\d\d\d\d\d\d\d\d\d\d\d\d/
/** From 2^53 on, roughly. */
const longInteger = /[:,[\s]-?(?:9\d{15}|\d{17})/
const exponent = /\d[eE][-+\d]/
const numberWithExponent = /[:,[\s]-?\d+(?:\.\d+)?[eE]/
/**
 * A fraction that is zero, or so close to a whole number that a double may not tell them apart. With ten digits before
 * the point, that takes five zeros or nines.
 */
const wholeFraction = /\.(?:0+(?!\d)|00000|99999)/y
/** With so many digits before the point a double may have no room for what is behind it. */
const longWhole = /^\d{11}$/

function hasMinusZero(text: string): boolean {
  for (let at = text.indexOf('-0'); at >= 0; at = text.indexOf('-0', at + 2)) {
    const next = text.charCodeAt(at + 2)
    if (next !== point && !isDigit(next) && canPrecedeNumber(text.charCodeAt(at - 1))) return true
  }
  return false
}

/** In JSON a number follows a colon, a comma, a bracket or space. */
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
