import { compare } from './comparison.ts'
import { isNatural, isNumber } from './numbers.ts'
import { Bytes, Composed, isArray, kindOf, Timestamp, type Value } from './value.ts'

/** Pairs after which two values count as different: they may use the same parts over and over again. */
const manyPairs = 1_000_000

/** Whether two values are the same to whoever reads them. */
export function same(left: Value, right: Value): boolean {
  // What is left to compare is kept in a list: values may be nested more deeply than the stack.
  const open: (readonly [Value, Value])[] = [[left, right]]
  for (let pairs = 0; pairs < manyPairs; pairs++) {
    const pair = open.pop()
    if (pair === undefined) return true
    const [a, b] = pair
    if (a === b || isSameScalar(a, b)) continue
    const [parts, others] = [partsOf(a), partsOf(b)]
    if (parts === undefined || kindOf(a) !== kindOf(b) || parts.length !== others?.length) return false
    for (const [at, part] of parts.entries()) open.push([part, others[at] as Value])
  }
  return false
}

function isSameScalar(a: Value, b: Value): boolean {
  if (isNumber(a) && isNumber(b)) return isNatural(a) === isNatural(b) && compare(a, b) === 0
  return a instanceof Timestamp && b instanceof Timestamp && a.micros === b.micros
}

/** What is in an array; keys and values of an object. */
function partsOf(value: Value): readonly Value[] | undefined {
  if (typeof value !== 'object' || value === null || isNumber(value) || value instanceof Timestamp) return undefined
  if (isArray(value)) return value
  if (value instanceof Bytes) return [...value.bytes]
  return (value instanceof Composed ? value.entries : Object.entries(value)).flat()
}
