import { format } from '../base/format.ts'

export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An own property, safe against prototype pollution: `__proto__` and `toString` are ordinary names. */
export function ownValue(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

export function setOwn(object: JsonObject, key: string, value: Json): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
}

export function clone<T extends Json>(value: T): T {
  if (Array.isArray(value)) return value.map(clone) as T
  if (!isObject(value)) return value
  const copy: JsonObject = {}
  for (const [key, member] of Object.entries(value)) setOwn(copy, key, clone(member))
  return copy as T
}

/** Deep equality of JSON values; the order of members is insignificant. */
export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (a === undefined || b === undefined) return false
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => equal(a[key], ownValue(b, key)))
}

/** Why a value does not round-trip through JSON; undefined if it does. */
export function unstorable(value: unknown, depth = 0): string | undefined {
  if (depth > format.jsonNesting) return `it is nested more than ${format.jsonNesting} levels deep`
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `${value} is not a JSON number`
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return undefined
  if (Array.isArray(value)) return firstOf(value, depth)
  if (typeof value === 'object' && isPlain(value)) return firstOf(Object.values(value), depth)
  return 'it contains a value that JSON does not support'
}

function firstOf(members: readonly unknown[], depth: number): string | undefined {
  for (const member of members) {
    const problem = unstorable(member, depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
