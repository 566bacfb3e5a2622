import { Failure } from './failure.ts'
import { decimal, greatestNatural, integer, isNatural, isNumber, type NumberValue, toDouble } from './numbers.ts'
import { textOf } from './text.ts'
import type { Value } from './value.ts'

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%' | '^'

type Compute = (left: Value, right: Value) => NumberValue

/** What the operators do: naturals stay naturals, everything else is computed in doubles. */
export const arithmetic: Readonly<Record<ArithmeticOperator, Compute>> = {
  '+': operator(
    (a, b) => a + b,
    (a, b) => a + b,
    (a, b) => a + b,
  ),
  '-': operator(
    (a, b) => a - b,
    (a, b) => a - b,
    (a, b) => a - b,
  ),
  '*': operator(
    (a, b) => a * b,
    (a, b) => a * b,
    (a, b) => a * b,
  ),
  '/': operator(
    (a, b) => Math.trunc(a / nonZero(b)),
    divide,
    (a, b) => a / b,
  ),
  '%': operator(
    (a, b) => a % nonZero(b),
    remainder,
    (a, b) => a % b,
  ),
  '^': operator(
    (a, b) => Number(power(BigInt(a), BigInt(b))),
    power,
    (a, b) => a ** b,
  ),
}

/**
 * Small naturals are computed as JS numbers. Only where the result shows that this may have been inexact, they are
 * computed once more as bigints.
 */
function operator(
  small: (a: number, b: number) => number,
  large: (a: bigint, b: bigint) => bigint,
  double: (a: number, b: number) => number,
): Compute {
  return (left, right) => {
    if (typeof left === 'number' && typeof right === 'number' && isSmall(left) && isSmall(right)) {
      const result = small(left, right)
      return isSmall(result) ? result : natural(large(BigInt(left), BigInt(right)))
    }
    if (!isNumber(left)) throw notNumber(left)
    if (!isNumber(right)) throw notNumber(right)
    if (isNatural(left) && isNatural(right)) return natural(large(BigInt(left), BigInt(right)))
    return finite(double(toDouble(left), toDouble(right)))
  }
}

function isSmall(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= Number.MAX_SAFE_INTEGER
}

export function notNumber(value: Value): Failure {
  return new Failure(`\`${textOf(value)}\` is not of type Number`)
}

function natural(value: bigint): number | bigint {
  return value < 0n || value > greatestNatural ? overflow() : integer(value)
}

function overflow(): never {
  throw new Failure('integer overflow')
}

function finite(value: number): NumberValue {
  if (Number.isFinite(value)) return decimal(value)
  if (Number.isNaN(value)) throw new Failure('not a number')
  throw new Failure(value > 0 ? 'floating-point overflow' : 'floating-point underflow')
}

function nonZero(divisor: number): number {
  if (divisor === 0) throw new Failure('division by zero')
  return divisor
}

function divide(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new Failure('division by zero')
  return a / b
}

function remainder(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new Failure('division by zero')
  return a % b
}

function power(base: bigint, exponent: bigint): bigint {
  if (exponent >= 2n ** 32n) return overflow()
  if (base <= 1n) return exponent === 0n ? 1n : base
  // 2^64 is too large already, so the exponents worth computing are small.
  return exponent > 63n ? overflow() : base ** exponent
}
