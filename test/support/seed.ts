import type { TestContext } from 'node:test'
import { Random } from '../../scripts/crash/random.ts'

const given = process.env['SHOAL_TEST_SEED']

/** Whether this run reproduces another one by its seed. */
export const isRepeated = given !== undefined

/** The seed of all random choices of this process: SHOAL_TEST_SEED, or a new one in each run. */
export const runSeed = given === undefined ? Date.now() % 1_000_000_007 : Number(given)
if (!Number.isSafeInteger(runSeed)) throw new Error(`SHOAL_TEST_SEED is ${given}: a whole number is needed`)

/** How to reproduce a run, for messages. */
export function repeating(seed: number): string {
  return `SHOAL_TEST_SEED=${seed} repeats it`
}

/** The seed for a test. It is printed. */
export function testSeed(t: TestContext): number {
  t.diagnostic(repeating(runSeed))
  return runSeed
}

/** A random number generator for a test. Its seed is printed. */
export function testRandom(t: TestContext): Random {
  return new Random(String(testSeed(t)))
}
