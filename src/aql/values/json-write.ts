import { aqlLimits } from '../limits.ts'
import { Failure } from './failure.ts'
import { Bytes, Composed, Decimal, isArray, type Key, Timestamp, type Value } from './value.ts'

/** The JSON text of a value, or a failure when it is beyond all measure. */
export function writeJson(value: Value): string {
  const text = write(value, 0)
  if (text.length > aqlLimits.resultLength) throw tooLong()
  return text
}

function write(value: Value, depth: number): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value)
    default:
      return value === null ? 'null' : writeObject(value, depth)
  }
}

function writeObject(value: Exclude<Value, string | number | bigint | boolean | null>, depth: number): string {
  if (value instanceof Decimal) return decimalJson(value.value)
  if (value instanceof Timestamp) return decimalJson(value.micros / 1e6)
  if (value instanceof Bytes) return `[${value.bytes.join(',')}]`
  if (depth === aqlLimits.valueNesting)
    throw new Failure(`the value is nested too deeply (limit valueNesting: ${aqlLimits.valueNesting})`)
  let text = ''
  if (isArray(value)) {
    for (const item of value) text = append(text, write(item, depth + 1))
    return `[${text}]`
  }
  if (value instanceof Composed) {
    for (const [key, item] of value.entries) text = append(text, `${keyJson(key)}:${write(item, depth + 1)}`)
    return `{${text}}`
  }
  for (const key of Object.keys(value))
    text = append(text, `${JSON.stringify(key)}:${write(value[key] as Value, depth + 1)}`)
  return `{${text}}`
}

/** A query can use one value many times, so a small amount of memory can stand for an endless text. */
function append(text: string, item: string): string {
  if (text.length + item.length > aqlLimits.resultLength) throw tooLong()
  return text === '' ? item : `${text},${item}`
}

function tooLong(): Failure {
  return new Failure(`the text of the value is too long (limit resultLength: ${aqlLimits.resultLength})`)
}

function keyJson(key: Key): string {
  return typeof key === 'string' ? JSON.stringify(key) : `"${key instanceof Decimal ? decimalJson(key.value) : key}"`
}

/** Always told apart from an integer, by a point or an exponent. */
function decimalJson(value: number): string {
  if (!Number.isInteger(value)) return String(value)
  if (Math.abs(value) >= 1e16) return value.toExponential().replace('+', '')
  return Object.is(value, -0) ? '-0.0' : `${value}.0`
}
