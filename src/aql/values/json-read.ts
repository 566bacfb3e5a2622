import { readLosslessly } from './json-lossless.ts'
import type { Value } from './value.ts'

/**
 * The value of a payload. `JSON.parse` takes `2.0` for `2` and rounds long integers, so texts in which that could
 * happen are read with care; most are not of that kind, and finding out is much cheaper than reading.
 */
export function readJson(text: string): Value {
  return isDoubtful(text) ? readLosslessly(text) : (JSON.parse(text) as Value)
}

/** Spelled out, since the engine searches for this much faster than for a count. */
const sixteenDigits = /\d\d\d\d\d\d\d\d\d\d\d\d\d\d\d\d/
const exponent = /\d[eE]/
/** A fraction that is zero, or may be rounded to a whole number together with what is before it. */
const wholeFraction = /\.(?:0+(?!\d)|[09]\d{3})/y

/** Whether a text may have a number that `JSON.parse` does not keep. What looks like one in a string counts too. */
export function isDoubtful(text: string): boolean {
  if (sixteenDigits.test(text) || exponent.test(text) || text.includes('-0')) return true
  for (let at = text.indexOf('.'); at >= 0; at = text.indexOf('.', at + 1)) {
    wholeFraction.lastIndex = at
    // With eleven digits before the point a double may have no room for what is behind it.
    if (wholeFraction.test(text) || isDigit(text.charCodeAt(at - 11))) return true
  }
  return false
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57
}
