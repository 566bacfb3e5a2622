import { aqlLimits } from '../limits.ts'
import { compare } from './comparison.ts'
import { isNatural, isNumber } from './numbers.ts'
import { Composed, isArray, kindOf, Timestamp, type Value } from './value.ts'

/** Whether two values are the same to whoever reads them. What is nested beyond all measure is not. */
export function same(a: Value, b: Value, depth = 0): boolean {
  if (a === b) return true
  if (isNumber(a) && isNumber(b)) return isNatural(a) === isNatural(b) && compare(a, b) === 0
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || kindOf(a) !== kindOf(b))
    return false
  if (depth === aqlLimits.valueNesting) return false
  if (a instanceof Timestamp || b instanceof Timestamp) return compare(a, b) === 0
  const [left, right] = [entriesOf(a), entriesOf(b)]
  return (
    left.length === right.length &&
    left.every(([key, value], at) => {
      const other = right[at]
      return other !== undefined && same(key, other[0]) && same(value, other[1], depth + 1)
    })
  )
}

function entriesOf(value: Value & object): readonly (readonly [Value, Value])[] {
  if (isArray(value)) return value.map((item, at) => [at, item])
  if (value instanceof Composed) return value.entries
  return Object.entries(value)
}
