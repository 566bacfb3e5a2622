import { aqlLimits } from '../language-limits.ts'
import { Bytes, Composed, isArray, type Value } from './value.ts'

/** Estimates the length of the JSON text of a value. Shared parts are measured once. */
export function textLength(value: Value): number {
  return new Measure().of(value, 0)
}

class Measure {
  readonly #memo = new Map<object, number>()

  of(value: Value, depth: number): number {
    if (typeof value === 'string') return value.length + 2
    if (typeof value !== 'object' || value === null) return 4
    if (value instanceof Bytes) return 4 * value.bytes.length
    const known = this.#memo.get(value)
    // A value nested too deeply is rejected when it is serialised.
    if (known !== undefined || depth === aqlLimits.valueNesting) return known ?? 0
    let length = 2
    if (isArray(value)) for (const item of value) length += 1 + this.of(item, depth + 1)
    else if (value instanceof Composed) for (const [, item] of value.entries) length += 5 + this.of(item, depth + 1)
    else for (const [key, item] of Object.entries(value)) length += 4 + key.length + this.of(item as Value, depth + 1)
    this.#memo.set(value, length)
    return length
  }
}
