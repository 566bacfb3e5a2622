/** States what must hold, also in production: going on after a broken assumption is how data gets lost. */
export function assert(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${what}`)
}
