/**
 * A runtime value. Numbers have the cheapest representation that keeps their kind:
 *
 * - a JS number that is an integer: a natural number, or a negative integer of a payload;
 * - any other JS number: a decimal;
 * - a bigint: an integer beyond 2^53;
 * - `Decimal`: a decimal with an integral value, like 1.0 or -0.0, so that it is not mistaken for an integer.
 */
export type Value =
  | null
  | boolean
  | string
  | number
  | bigint
  | Decimal
  | Timestamp
  | Bytes
  | readonly Value[]
  | Composed
  | Plain

/** An object with string keys only: from a payload, or from an object literal with constant keys. */
export interface Plain {
  readonly [key: string]: Value
}

export class Decimal {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

export class Timestamp {
  /** Since the Unix epoch. */
  readonly micros: number

  constructor(micros: number) {
    this.micros = micros
  }
}

export class Bytes {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

export type Key = string | number | bigint | boolean | Decimal

/** An object whose keys were computed or are not all strings. Its entries are in output order. */
export class Composed {
  readonly entries: readonly (readonly [key: Key, value: Value])[]

  constructor(entries: readonly (readonly [key: Key, value: Value])[]) {
    this.entries = entries
  }

  get(key: string | number | bigint): Value | undefined {
    return this.entries.find((entry) => entry[0] === key)?.[1]
  }
}

export type Kind = 'Null' | 'Bool' | 'Number' | 'String' | 'Timestamp' | 'Bytes' | 'Array' | 'Object'

/** The name of a value's kind in messages. */
export function kindOf(value: Value): Kind {
  switch (typeof value) {
    case 'string':
      return 'String'
    case 'boolean':
      return 'Bool'
    case 'number':
    case 'bigint':
      return 'Number'
    default:
      return kindOfObject(value)
  }
}

function kindOfObject(value: Exclude<Value, string | boolean | number | bigint>): Kind {
  if (value === null) return 'Null'
  if (Array.isArray(value)) return 'Array'
  if (value instanceof Decimal) return 'Number'
  if (value instanceof Timestamp) return 'Timestamp'
  if (value instanceof Bytes) return 'Bytes'
  return 'Object'
}

/** Looks up a property or an array item; `undefined` when there is none. */
export function propertyOf(container: Value, key: string | number | bigint): Value | undefined {
  if (typeof container !== 'object' || container === null) return undefined
  if (isArray(container)) return typeof key === 'number' ? container[key] : undefined
  if (container instanceof Composed) return container.get(key)
  if (container instanceof Decimal || container instanceof Timestamp || container instanceof Bytes) return undefined
  return typeof key === 'string' && Object.hasOwn(container, key) ? container[key] : undefined
}

/** Whether it is a plain object, whose properties can be accessed directly. */
export function isPlain(value: Value): value is Plain {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

/** `Array.isArray` as a type guard that also narrows read-only arrays. */
export function isArray(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}
