/** Checks an invariant, also in production: continuing after a broken invariant is how data gets lost. */
export function assert(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${what}`)
}
