import type { TestContext } from 'node:test'

/** A number that a test chooses its cases by. It is printed, and the variable SEED repeats it. */
export function testSeed(t: TestContext): number {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000_007)
  t.diagnostic(`SEED=${seed}`)
  return seed
}
