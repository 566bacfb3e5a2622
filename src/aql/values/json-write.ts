import { aqlLimits } from '../language-limits.ts'
import { Failure } from './failure.ts'
import { textLength } from './text-length.ts'
import { Bytes, Composed, Decimal, isArray, isPlain, type Key, type Plain, Timestamp, type Value } from './value.ts'

/**
 * JSON text. A long one is in parts: joining them would make another string of the same length, and a result may have
 * 32 MiB.
 */
export type JsonText = string | readonly string[]

/** Length from which a text becomes a part of its own. */
const partLength = 64 * 1024

/** Serialises a value to JSON. Throws a failure when the text would exceed the limit. */
export function writeJson(value: Value): string {
  const text = jsonText(value)
  return typeof text === 'string' ? text : text.join('')
}

/** Serialises a value to JSON without joining a long text. Throws a failure when the text would exceed the limit. */
export function jsonText(value: Value): JsonText {
  return sizeLeft(value, measureFrom) >= 0 ? JSON.stringify(value) : new JsonWriter(value).text()
}

export function jsonLength(text: JsonText): number {
  return typeof text === 'string' ? text.length : text.reduce((sum, part) => sum + part.length, 0)
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
  readonly #parts: string[] = []
  /** The text after the last part. */
  #rest = ''
  #written = 0
  #isMeasured = false

  constructor(root: Value) {
    this.#root = root
  }

  text(): JsonText {
    this.#write(this.#root, 0)
    if (this.#parts.length === 0) return this.#rest
    this.#endPart()
    if (jsonLength(this.#parts) > aqlLimits.resultLength) throw tooLong()
    return this.#parts
  }

  #emit(text: string): void {
    if (text.length >= partLength) this.#endPart()
    this.#rest += text
    if (this.#rest.length >= partLength) this.#endPart()
  }

  #endPart(): void {
    if (this.#rest !== '') this.#parts.push(this.#rest)
    this.#rest = ''
  }

  #write(value: Value, depth: number): void {
    switch (typeof value) {
      case 'string':
        this.#count(value.length)
        this.#emit(JSON.stringify(value))
        break
      case 'number':
      case 'bigint':
      case 'boolean':
        this.#emit(String(value))
        break
      default:
        if (value === null) this.#emit('null')
        else this.#object(value, depth)
    }
  }

  #object(value: Exclude<Value, string | number | bigint | boolean | null>, depth: number): void {
    if (value instanceof Decimal) this.#emit(decimalJson(value.value))
    else if (value instanceof Timestamp) this.#emit(decimalJson(value.micros / 1e6))
    else if (value instanceof Bytes) this.#emit(`[${value.bytes.join(',')}]`)
    else if (depth === aqlLimits.valueNesting)
      throw new Failure(`the value is nested too deeply (limit valueNesting: ${aqlLimits.valueNesting})`)
    else if (isArray(value)) this.#array(value, depth + 1)
    else if (value instanceof Composed) this.#composed(value, depth + 1)
    else this.#plain(value, depth + 1)
  }

  #array(items: readonly Value[], depth: number): void {
    this.#count(items.length + 1)
    this.#emit('[')
    for (const [i, item] of items.entries()) {
      if (i > 0) this.#emit(',')
      this.#write(item, depth)
    }
    this.#emit(']')
  }

  #plain(object: Plain, depth: number): void {
    const keys = Object.keys(object)
    this.#count(keys.length + 1)
    for (const [i, key] of keys.entries()) {
      this.#emit(`${i === 0 ? '{' : ','}${JSON.stringify(key)}:`)
      this.#write(object[key] as Value, depth)
    }
    this.#emit(keys.length === 0 ? '{}' : '}')
  }

  #composed({ entries }: Composed, depth: number): void {
    this.#count(entries.length + 1)
    for (const [i, [key, item]] of entries.entries()) {
      this.#emit(`${i === 0 ? '{' : ','}${keyJson(key)}:`)
      this.#write(item, depth)
    }
    this.#emit(entries.length === 0 ? '{}' : '}')
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
