import { aqlLimits } from '../language-limits.ts'
import { Failure } from './failure.ts'
import { textLength } from './text-length.ts'
import { Bytes, Composed, Decimal, isArray, isPlain, type Key, type Plain, Timestamp, type Value } from './value.ts'

/** Serialises a value to JSON. Throws a failure when the text would exceed the limit. */
export function writeJson(value: Value): string {
  if (sizeLeft(value, measureFrom) >= 0) return JSON.stringify(value)
  const text = new JsonWriter(value).write(value, 0)
  if (text.length > aqlLimits.resultLength) throw tooLong()
  return text
}

/** Size (parts and characters) from which a value is measured before it is serialised further. */
const measureFrom = 10_000

/** Nesting depth up to which `JSON.stringify` is used. */
const fastPathDepth = 64

/**
 * Subtracts the size of a value; negative when it is too large, too deep, or contains values that JSON does not have.
 */
function sizeLeft(value: Value, left: number, depth = 0): number {
  if (typeof value === 'string') return left - value.length
  if (typeof value !== 'object') return typeof value === 'bigint' ? -1 : left
  if (value === null) return left
  if (depth === fastPathDepth) return -1
  let rest = left - 1
  if (isArray(value)) {
    for (let at = 0; at < value.length && rest >= 0; at++) rest = sizeLeft(value[at] as Value, rest - 1, depth + 1)
  } else if (isPlain(value)) {
    for (const key in value) if (rest >= 0) rest = sizeLeft(value[key] as Value, rest - key.length, depth + 1)
  } else return -1
  return rest
}

/**
 * A query can reference one value many times, so a small value in memory may be exponentially long as text. Measuring
 * visits shared parts once. It takes a while, so small values are not measured.
 */
class JsonWriter {
  readonly #root: Value
  #written = 0
  #isMeasured = false

  constructor(root: Value) {
    this.#root = root
  }

  write(value: Value, depth: number): string {
    switch (typeof value) {
      case 'string':
        this.#count(value.length)
        return JSON.stringify(value)
      case 'number':
      case 'bigint':
      case 'boolean':
        return String(value)
      default:
        return value === null ? 'null' : this.#object(value, depth)
    }
  }

  #object(value: Exclude<Value, string | number | bigint | boolean | null>, depth: number): string {
    if (value instanceof Decimal) return decimalJson(value.value)
    if (value instanceof Timestamp) return decimalJson(value.micros / 1e6)
    if (value instanceof Bytes) return `[${value.bytes.join(',')}]`
    if (depth === aqlLimits.valueNesting)
      throw new Failure(`the value is nested too deeply (limit valueNesting: ${aqlLimits.valueNesting})`)
    if (isArray(value)) return this.#array(value, depth + 1)
    return value instanceof Composed ? this.#composed(value, depth + 1) : this.#plain(value, depth + 1)
  }

  #array(items: readonly Value[], depth: number): string {
    this.#count(items.length + 1)
    let text = ''
    for (const item of items) text += `${text === '' ? '' : ','}${this.write(item, depth)}`
    return `[${text}]`
  }

  #plain(object: Plain, depth: number): string {
    const keys = Object.keys(object)
    this.#count(keys.length + 1)
    let text = ''
    for (const key of keys)
      text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${this.write(object[key] as Value, depth)}`
    return `{${text}}`
  }

  #composed({ entries }: Composed, depth: number): string {
    this.#count(entries.length + 1)
    const parts = entries.map(([key, item]) => `${keyJson(key)}:${this.write(item, depth)}`)
    return `{${parts.join(',')}}`
  }

  #count(more: number): void {
    this.#written += more
    if (this.#isMeasured || this.#written < measureFrom) return
    this.#isMeasured = true
    if (textLength(this.#root) > aqlLimits.resultLength) throw tooLong()
  }
}

function tooLong(): Failure {
  return new Failure(`the text of the value is too long (limit resultLength: ${aqlLimits.resultLength})`)
}

function keyJson(key: Key): string {
  return typeof key === 'string' ? JSON.stringify(key) : `"${key instanceof Decimal ? decimalJson(key.value) : key}"`
}

/** Distinct from an integer: it always has a point or an exponent. */
function decimalJson(value: number): string {
  if (!Number.isInteger(value)) return String(value)
  if (Math.abs(value) >= 1e16) return value.toExponential().replace('+', '')
  return Object.is(value, -0) ? '-0.0' : `${value}.0`
}
