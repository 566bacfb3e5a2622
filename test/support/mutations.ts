import * as fc from './property.ts'

/** A change of a text: something is taken away in a place, and something else put there. */
export interface Mutation {
  readonly at: number
  readonly remove: number
  readonly insert: string
}

export function anyMutation(insert: fc.Arbitrary<string>): fc.Arbitrary<Mutation> {
  return fc.record({ at: fc.nat(), remove: fc.nat(2), insert })
}

/** The text after all of them, none of which changes its first characters, if there are such that have to stay. */
export function mutated(text: string, mutations: readonly Mutation[], kept = 0): string {
  let result = text
  for (const { at, remove, insert } of mutations) {
    const place = kept + (at % (result.length + 1 - kept))
    result = result.slice(0, place) + insert + result.slice(place + remove)
  }
  return result
}
