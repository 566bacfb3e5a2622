import { Bytes, Composed, isArray, type Value } from './value.ts'

/** Roughly the bytes that a value takes. Counting ends soon after `enough`. */
export function weightOf(value: Value, enough: number): number {
  if (typeof value !== 'object') return 16 + (typeof value === 'string' ? value.length : 0)
  // What is left to count is kept in a list: a value may be nested more deeply than the stack.
  const open: Value[] = [value]
  let bytes = 0
  while (open.length > 0 && bytes <= enough) {
    const next = open.pop() as Value
    bytes += 16
    if (typeof next === 'string') bytes += next.length
    else if (next instanceof Bytes) bytes += next.bytes.length
    else if (typeof next === 'object' && next !== null) {
      const parts = partsOf(next)
      bytes += isArray(next) ? 8 * parts.length : 48 + 16 * parts.length
      for (const part of parts) open.push(part)
    }
  }
  return bytes
}

function partsOf(value: Value & object): readonly Value[] {
  if (isArray(value)) return value
  return value instanceof Composed ? value.entries.map(([, part]) => part) : Object.values(value)
}
