import { Bytes, Decimal, isArray, Timestamp, type Value } from './value.ts'

/** The text of a value in a template. */
export function textOf(value: Value): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
      return Number.isInteger(value) ? String(value) : decimalText(value)
    case 'bigint':
      return String(value)
    case 'boolean':
      return value ? 'TRUE' : 'FALSE'
    default:
      return objectText(value)
  }
}

function objectText(value: Exclude<Value, string | number | bigint | boolean>): string {
  if (value === null) return 'NULL'
  if (isArray(value)) return 'ARRAY'
  if (value instanceof Decimal) return decimalText(value.value)
  if (value instanceof Timestamp) return instantText(value.micros)
  if (value instanceof Bytes) return bytesText(value.bytes)
  return 'OBJECT'
}

/** The shortest text that round-trips to the same number, always with a point. */
export function decimalText(value: number): string {
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-6 || size >= 1e16)) {
    const [digits = '', exponent = ''] = value.toExponential().replace('+', '').split('e')
    return `${digits.includes('.') ? digits : `${digits}.0`}e${exponent}`
  }
  const text = Object.is(value, -0) ? '-0' : String(value)
  return text.includes('.') ? text : `${text}.0`
}

/** In UTC, with microsecond precision. */
export function instantText(micros: number): string {
  const seconds = Math.floor(micros / 1e6)
  const fraction = String(micros - seconds * 1e6).padStart(6, '0')
  const date = new Date(seconds * 1000)
  if (Number.isNaN(date.getTime())) return `${decimalText(micros / 1e6)}s`
  return `${date.toISOString().slice(0, -'.000Z'.length)}.${fraction}Z`
}

export function bytesText(bytes: Uint8Array): string {
  return `h'${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}'`
}
