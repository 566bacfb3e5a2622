import { spend } from './allowance.ts'
import { Failure } from './failure.ts'
import { isNatural, isNumber, type NumberValue, toDouble } from './numbers.ts'
import { kindOf, Timestamp, type Value } from './value.ts'

export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>='

/** Characters from which comparing a string takes noticeable time. */
const long = 1024

/** Three-way comparison; `undefined` for values of different kinds, or of a kind without an order. */
export function compare(left: Value, right: Value): number | undefined {
  if (typeof left === 'number' && typeof right === 'number') return order(left, right)
  if (typeof left === 'string' && typeof right === 'string') {
    // Comparing a character costs more than creating it.
    if (left.length > long && right.length > long) spend(8 * Math.min(left.length, right.length))
    return compareTexts(left, right)
  }
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right)
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right)
  if (left === null && right === null) return 0
  if (left instanceof Timestamp && right instanceof Timestamp) return left.micros - right.micros
  return undefined
}

function compareNumbers(left: NumberValue, right: NumberValue): number {
  if (isNatural(left) && isNatural(right)) return order(left, right)
  return order(toDouble(left), toDouble(right))
}

function order(left: number | bigint, right: number | bigint): number {
  if (left < right) return -1
  return left > right ? 1 : 0
}

/** Compares by code point, which is the order of UTF-8 bytes. By UTF-16 code unit an emoji would sort before U+FFFD. */
export function compareTexts(left: string, right: string): number {
  if (left === right) return 0
  const length = Math.min(left.length, right.length)
  for (let at = 0; at < length; at++) {
    const [a, b] = [left.charCodeAt(at), right.charCodeAt(at)]
    if (a === b) continue
    // Only surrogates sort wrongly as UTF-16 code units: they stand for code points above all single units.
    if (isSurrogate(a) !== isSurrogate(b)) return isSurrogate(a) ? 1 : -1
    return a - b
  }
  return left.length - right.length
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}

const predicates: Readonly<Record<ComparisonOperator, (sign: number) => boolean>> = {
  '=': (sign) => sign === 0,
  '!=': (sign) => sign !== 0,
  '<': (sign) => sign < 0,
  '<=': (sign) => sign <= 0,
  '>': (sign) => sign > 0,
  '>=': (sign) => sign >= 0,
}

export function comparison(operator: ComparisonOperator): (left: Value, right: Value) => boolean {
  const predicate = predicates[operator]
  return (left, right) => {
    const sign = compare(left, right)
    if (sign === undefined) throw incomparable(operator, left, right)
    return predicate(sign)
  }
}

function incomparable(operator: ComparisonOperator, left: Value, right: Value): Failure {
  return new Failure(`binary operation ${operator} cannot be applied to ${kindOf(left)} and ${kindOf(right)}`)
}
