import { Decimal, type Value } from './value.ts'

export type NumberValue = number | bigint | Decimal

export const maxNatural = 2n ** 64n - 1n

export function isNumber(value: Value): value is NumberValue {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Decimal
}

export function isNatural(value: Value): value is number | bigint {
  return typeof value === 'number' ? Number.isInteger(value) && value >= 0 : typeof value === 'bigint' && value >= 0n
}

/** Converts to a double. Arithmetic treats negative integers as decimals. */
export function toDouble(value: NumberValue): number {
  if (typeof value === 'number') return value
  return typeof value === 'bigint' ? Number(value) : value.value
}

export function decimal(value: number): NumberValue {
  return Number.isInteger(value) ? new Decimal(value) : value
}

export function integer(value: bigint): number | bigint {
  const small = Number(value)
  return Number.isSafeInteger(small) ? small : value
}
