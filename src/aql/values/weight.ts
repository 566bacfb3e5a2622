import { Bytes, Composed, isArray, isPlain, type Value } from './value.ts'

/** Roughly the bytes that a value takes. Counting ends soon after `enough`. */
export function weightOf(value: Value, enough: number): number {
  const left = bytesLeft(value, little, 0)
  return left >= 0 ? little - left : weightOfMuch(value, enough)
}

const scalar = 16
const object = 64
const property = 16
const item = 8

/** Bytes of a value that is weighed without further ado, and its levels. */
const little = 4096
const few = 16

/** Counts down; below zero when there is more, or what it does not know. */
function bytesLeft(value: Value, left: number, depth: number): number {
  if (typeof value === 'string') return left - scalar - value.length
  if (typeof value !== 'object' || value === null) return left - scalar
  if (depth === few) return -1
  if (isArray(value)) {
    let rest = left - scalar - item * value.length
    for (let at = 0; at < value.length && rest >= 0; at++) rest = bytesLeft(value[at] as Value, rest, depth + 1)
    return rest
  }
  if (!isPlain(value)) return -1
  let rest = left - object
  for (const key in value) if (rest >= 0) rest = bytesLeft(value[key] as Value, rest - property, depth + 1)
  return rest
}

/** What is left to count is kept in a list: a value may be nested more deeply than the stack. */
function weightOfMuch(value: Value, enough: number): number {
  const open: Value[] = [value]
  let bytes = 0
  while (open.length > 0 && bytes <= enough) {
    const next = open.pop() as Value
    if (typeof next === 'string') bytes += scalar + next.length
    else if (next instanceof Bytes) bytes += scalar + next.bytes.length
    else if (typeof next !== 'object' || next === null) bytes += scalar
    else {
      const parts = partsOf(next)
      bytes += isArray(next) ? scalar + item * parts.length : object + property * parts.length
      for (const part of parts) open.push(part)
    }
  }
  return bytes
}

function partsOf(value: Value & object): readonly Value[] {
  if (isArray(value)) return value
  return value instanceof Composed ? value.entries.map(([, part]) => part) : Object.values(value)
}
