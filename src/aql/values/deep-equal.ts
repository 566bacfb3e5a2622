import { compare } from './comparison.ts'
import { isNatural, isNumber } from './numbers.ts'
import { Bytes, Composed, isArray, kindOf, Timestamp, type Value } from './value.ts'

/** Pairs after which two values count as different: shared parts can make the comparison exponential. */
const maxPairs = 1_000_000

/** Deep equality of two values. */
export function deepEqual(left: Value, right: Value): boolean {
  // An explicit worklist: values may be nested more deeply than the stack allows.
  const worklist: (readonly [Value, Value])[] = [[left, right]]
  for (let pairs = 0; pairs < maxPairs; pairs++) {
    const pair = worklist.pop()
    if (pair === undefined) return true
    const [a, b] = pair
    if (a === b || scalarsEqual(a, b)) continue
    const [parts, others] = [partsOf(a), partsOf(b)]
    if (parts === undefined || kindOf(a) !== kindOf(b) || parts.length !== others?.length) return false
    for (const [at, part] of parts.entries()) worklist.push([part, others[at] as Value])
  }
  return false
}

function scalarsEqual(a: Value, b: Value): boolean {
  if (isNumber(a) && isNumber(b)) return isNatural(a) === isNatural(b) && compare(a, b) === 0
  return a instanceof Timestamp && b instanceof Timestamp && a.micros === b.micros
}

/** The items of an array, or the keys and values of an object. */
function partsOf(value: Value): readonly Value[] | undefined {
  if (typeof value !== 'object' || value === null || isNumber(value) || value instanceof Timestamp) return undefined
  if (isArray(value)) return value
  if (value instanceof Bytes) return [...value.bytes]
  return (value instanceof Composed ? value.entries : Object.entries(value)).flat()
}
