import { Failure } from './failure.ts'
import { decimal, integer, isNatural, isNumber, maxNatural, type NumberValue, toDouble } from './numbers.ts'
import { textOf } from './text.ts'
import type { Value } from './value.ts'

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%' | '^'

/** An operator, for naturals and for all other numbers. */
interface Operator {
  readonly naturals: (a: bigint, b: bigint) => bigint
  readonly doubles: (a: number, b: number) => number
}

const plus: Operator = { naturals: (a, b) => a + b, doubles: (a, b) => a + b }
const minus: Operator = { naturals: (a, b) => a - b, doubles: (a, b) => a - b }
const times: Operator = { naturals: (a, b) => a * b, doubles: (a, b) => a * b }
const dividedBy: Operator = { naturals: (a, b) => a / nonZero(b), doubles: (a, b) => a / b }
const modulo: Operator = { naturals: (a, b) => a % nonZero(b), doubles: (a, b) => a % b }
const toThePower: Operator = { naturals: power, doubles: (a, b) => a ** b }

/** Fast path for small naturals, the most common numbers: plain JS arithmetic, unless the result would be inexact. */
export const arithmetic: Readonly<Record<ArithmeticOperator, (left: Value, right: Value) => NumberValue>> = {
  '+': (left, right) => {
    if (!isSmall(left) || !isSmall(right)) return compute(plus, left, right)
    const sum = left + right
    return sum <= Number.MAX_SAFE_INTEGER ? sum : compute(plus, left, right)
  },
  '-': (left, right) => (isSmall(left) && isSmall(right) && left >= right ? left - right : compute(minus, left, right)),
  '*': (left, right) => {
    if (!isSmall(left) || !isSmall(right)) return compute(times, left, right)
    const product = left * right
    return product <= Number.MAX_SAFE_INTEGER ? product : compute(times, left, right)
  },
  '/': (left, right) =>
    isSmall(left) && isSmall(right) && right > 0 ? Math.trunc(left / right) : compute(dividedBy, left, right),
  '%': (left, right) => (isSmall(left) && isSmall(right) && right > 0 ? left % right : compute(modulo, left, right)),
  '^': (left, right) => compute(toThePower, left, right),
}

function isSmall(value: Value): value is number {
  return typeof value === 'number' && value >= 0 && Number.isInteger(value)
}

function compute({ naturals, doubles }: Operator, left: Value, right: Value): NumberValue {
  if (!isNumber(left)) throw notNumber(left)
  if (!isNumber(right)) throw notNumber(right)
  if (!isNatural(left) || !isNatural(right)) return finite(doubles(toDouble(left), toDouble(right)))
  const result = naturals(BigInt(left), BigInt(right))
  if (result < 0n || result > maxNatural) throw new Failure('integer overflow')
  return integer(result)
}

export function notNumber(value: Value): Failure {
  return new Failure(`\`${textOf(value)}\` is not of type Number`)
}

function finite(value: number): NumberValue {
  if (Number.isFinite(value)) return decimal(value)
  if (Number.isNaN(value)) throw new Failure('not a number')
  throw overflowFailure(value)
}

/** The failure for an infinite result. */
export function overflowFailure(value: number): Failure {
  return new Failure(value > 0 ? 'floating-point overflow' : 'floating-point underflow')
}

function nonZero(divisor: bigint): bigint {
  if (divisor === 0n) throw new Failure('division by zero')
  return divisor
}

function power(base: bigint, exponent: bigint): bigint {
  // 2^64 overflows already, so only small exponents are computed.
  if (exponent >= 2n ** 32n || (base > 1n && exponent > 63n)) throw new Failure('integer overflow')
  return base > 1n || exponent === 0n ? base ** exponent : base
}
