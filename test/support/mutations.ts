import * as fc from './property.ts'

/** A mutation of a text: replaces some characters at a position. */
export interface Mutation {
  readonly at: number
  readonly remove: number
  readonly insert: string
}

export function anyMutation(insert: fc.Arbitrary<string>): fc.Arbitrary<Mutation> {
  return fc.record({ at: fc.nat(), remove: fc.nat(2), insert })
}

/** Applies mutations to a text; the first `kept` characters stay unchanged. */
export function mutated(text: string, mutations: readonly Mutation[], kept = 0): string {
  let result = text
  for (const { at, remove, insert } of mutations) {
    const place = kept + (at % (result.length + 1 - kept))
    result = result.slice(0, place) + insert + result.slice(place + remove)
  }
  return result
}

/** A mutation of bytes: replaces some of them at a position. */
export interface ByteMutation {
  readonly at: number
  readonly remove: number
  readonly insert: Uint8Array
}

export function anyByteMutation(insert: fc.Arbitrary<Uint8Array>, maxRemoved = 2): fc.Arbitrary<ByteMutation> {
  return fc.record({ at: fc.nat(), remove: fc.nat(maxRemoved), insert })
}

/** Applies mutations to bytes; the first `kept` bytes stay unchanged. */
export function mutatedBytes(bytes: Uint8Array, mutations: readonly ByteMutation[], kept = 0): Buffer {
  let result = Buffer.from(bytes)
  for (const { at, remove, insert } of mutations) {
    const place = kept + (at % (result.length + 1 - kept))
    result = Buffer.concat([result.subarray(0, place), insert, result.subarray(place + remove)])
  }
  return result
}
