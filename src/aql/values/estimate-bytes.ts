import { Bytes, Composed, isArray, isPlain, type Value } from './value.ts'

/** Estimates the memory footprint of a value in bytes. Stops soon after `stopAfter`. */
export function estimateBytes(value: Value, stopAfter: number): number {
  const left = bytesLeft(value, fastPathBytes, 0)
  return left >= 0 ? fastPathBytes - left : estimateLargeBytes(value, stopAfter)
}

const scalar = 16
const object = 64
const property = 16
const item = 8

/** Size and depth up to which the recursive fast path is used. */
const fastPathBytes = 4096
const fastPathDepth = 16

/** Subtracts the bytes of a value; negative when it is too large, too deep, or of another kind. */
function bytesLeft(value: Value, left: number, depth: number): number {
  if (typeof value === 'string') return left - scalar - value.length
  if (typeof value !== 'object' || value === null) return left - scalar
  if (depth === fastPathDepth) return -1
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

/** With an explicit worklist: a value may be nested more deeply than the stack allows. */
function estimateLargeBytes(value: Value, stopAfter: number): number {
  const worklist: Value[] = [value]
  let bytes = 0
  while (worklist.length > 0 && bytes <= stopAfter) {
    const next = worklist.pop() as Value
    if (typeof next === 'string') bytes += scalar + next.length
    else if (next instanceof Bytes) bytes += scalar + next.bytes.length
    else if (typeof next !== 'object' || next === null) bytes += scalar
    else {
      const parts = partsOf(next)
      bytes += isArray(next) ? scalar + item * parts.length : object + property * parts.length
      for (const part of parts) worklist.push(part)
    }
  }
  return bytes
}

function partsOf(value: Value & object): readonly Value[] {
  if (isArray(value)) return value
  return value instanceof Composed ? value.entries.map(([, part]) => part) : Object.values(value)
}
