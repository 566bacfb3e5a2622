import type { AqlEvent } from '../../../src/aql/values/event.ts'

/**
 * A naive reference implementation of the values, as close to the specification as possible and without any code of the
 * product. Every value is tagged with its kind, and its metadata is the list of all contributing events.
 */
export type TaggedValue =
  | { readonly is: 'Null' }
  | { readonly is: 'Bool'; readonly bool: boolean }
  | { readonly is: 'Natural'; readonly natural: bigint }
  | { readonly is: 'Decimal'; readonly decimal: number }
  | { readonly is: 'Negative'; readonly negative: bigint }
  | { readonly is: 'String'; readonly text: string }
  | { readonly is: 'Timestamp'; readonly micros: bigint }
  | { readonly is: 'Bytes'; readonly bytes: readonly number[] }
  | { readonly is: 'Array'; readonly items: readonly TaggedValue[] }
  | { readonly is: 'Object'; readonly entries: readonly (readonly [TaggedValue, TaggedValue])[] }

export interface Traced {
  readonly thing: TaggedValue
  readonly from: readonly AqlEvent[]
}

export class Problem extends Error {}

export const yes = (bool: boolean): TaggedValue => ({ is: 'Bool', bool })
export const natural = (value: bigint | number): TaggedValue => ({ is: 'Natural', natural: BigInt(value) })
export const decimal = (value: number): TaggedValue => ({ is: 'Decimal', decimal: value })
export const text = (value: string): TaggedValue => ({ is: 'String', text: value })
export const list = (items: readonly TaggedValue[]): TaggedValue => ({ is: 'Array', items })

export function kind(thing: TaggedValue): string {
  return thing.is === 'Natural' || thing.is === 'Decimal' || thing.is === 'Negative' ? 'Number' : thing.is
}

/** Parses JSON with `context.source`, which has the text of each number. */
export function read(json: string): TaggedValue {
  const reviver = (_: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value === 'number') return numberFrom(context?.source ?? String(value))
    if (typeof value === 'string') return text(value)
    if (typeof value === 'boolean') return yes(value)
    if (value === null) return { is: 'Null' }
    if (Array.isArray(value)) return list(value as TaggedValue[])
    const entries = Object.entries(value as Record<string, TaggedValue>)
    return { is: 'Object', entries: entries.map(([key, item]) => [text(key), item]) }
  }
  return JSON.parse(json, reviver) as TaggedValue
}

function numberFrom(source: string): TaggedValue {
  if (/[.eE]/.test(source) || source === '-0') return decimal(Number(source))
  const value = BigInt(source)
  if (value >= 2n ** 64n || value < -(2n ** 63n)) return decimal(Number(source))
  return value < 0n ? { is: 'Negative', negative: value } : natural(value)
}

export function double(thing: TaggedValue): number | undefined {
  if (thing.is === 'Natural') return Number(thing.natural)
  if (thing.is === 'Negative') return Number(thing.negative)
  return thing.is === 'Decimal' ? thing.decimal : undefined
}

const bytesOf = (value: string): Buffer => Buffer.from(value)

/** -1, 0, 1, or `undefined` for incomparable values. */
export function compare(a: TaggedValue, b: TaggedValue): number | undefined {
  if (a.is === 'Null' && b.is === 'Null') return 0
  if (a.is === 'Bool' && b.is === 'Bool') return Math.sign(Number(a.bool) - Number(b.bool))
  if (a.is === 'String' && b.is === 'String') return Buffer.compare(bytesOf(a.text), bytesOf(b.text))
  if (a.is === 'Timestamp' && b.is === 'Timestamp') return a.micros < b.micros ? -1 : Number(a.micros > b.micros)
  if (a.is === 'Natural' && b.is === 'Natural') return a.natural < b.natural ? -1 : Number(a.natural > b.natural)
  const [x, y] = [double(a), double(b)]
  return x === undefined || y === undefined ? undefined : x < y ? -1 : Number(x > y)
}

export function json(thing: TaggedValue): string {
  switch (thing.is) {
    case 'Null':
      return 'null'
    case 'Bool':
      return String(thing.bool)
    case 'Natural':
      return String(thing.natural)
    case 'Negative':
      return String(thing.negative)
    case 'Decimal':
      return jsonOfDecimal(thing.decimal)
    case 'String':
      return JSON.stringify(thing.text)
    case 'Timestamp':
      return jsonOfDecimal(Number(thing.micros) / 1e6)
    case 'Bytes':
      return JSON.stringify(thing.bytes)
    case 'Array':
      return `[${thing.items.map(json).join(',')}]`
    case 'Object':
      return `{${thing.entries.map(([key, value]) => `${key.is === 'String' ? json(key) : `"${json(key)}"`}:${json(value)}`).join(',')}}`
  }
}

function jsonOfDecimal(value: number): string {
  if (Object.is(value, -0)) return '-0.0'
  if (Math.abs(value) >= 1e16) return value.toExponential().replace('+', '')
  return Number.isInteger(value) ? `${value}.0` : `${value}`
}

/** The text of a value in templates and messages. */
export function plain(thing: TaggedValue): string {
  switch (thing.is) {
    case 'String':
      return thing.text
    case 'Bool':
      return thing.bool ? 'TRUE' : 'FALSE'
    case 'Natural':
      return String(thing.natural)
    case 'Negative':
      return String(thing.negative)
    case 'Decimal':
      return plainDecimal(thing.decimal)
    case 'Timestamp': {
      const seconds = new Date(Number(thing.micros / 1_000_000n) * 1000).toISOString().slice(0, 19)
      return `${seconds}.${String(thing.micros % 1_000_000n).padStart(6, '0')}Z`
    }
    case 'Bytes':
      return `h'${Buffer.from(thing.bytes).toString('hex')}'`
    default:
      return thing.is.toUpperCase()
  }
}

function plainDecimal(value: number): string {
  if (Object.is(value, -0)) return '-0.0'
  if (value !== 0 && (Math.abs(value) >= 1e16 || Math.abs(value) < 1e-6)) {
    const [mantissa = '', exponent = ''] = value.toExponential().replace('+', '').split('e')
    return `${mantissa}${mantissa.includes('.') ? '' : '.0'}e${exponent}`
  }
  return Number.isInteger(value) ? `${value}.0` : `${value}`
}

export function notation(thing: TaggedValue): string {
  switch (thing.is) {
    case 'String':
      return `"${thing.text.replace(/["'\\]/g, '\\$&').replaceAll('\n', '\\n')}"`
    case 'Null':
    case 'Bool':
      return json(thing)
    case 'Array':
      return `[${thing.items.map(notation).join(', ')}]`
    case 'Object':
      return `{${thing.entries.map(([key, value]) => `${notation(key)}: ${notation(value)}`).join(', ')}}`
    default:
      return plain(thing)
  }
}
