import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from '../support/property.ts'
import { isRepeated } from '../support/seed.ts'
import { firstSteps, lastSteps, steps } from './agreement/steps.ts'
import { World } from './agreement/world.ts'

/**
 * Number of sequences; SHOAL_TEST_RUNS sets another one. Only a run with SHOAL_TEST_SEED shrinks a failing sequence,
 * because that takes long.
 */
const runs = Number(process.env['SHOAL_TEST_RUNS'] ?? 8)
const secondsPerRun = 30

test('the stores on disk, in one thread and in memory give the same results after the same operations', {
  timeout: 1000 * secondsPerRun * (runs + 10),
}, async (t) => {
  const seen = new Map<string, number>()
  const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1)
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const world = await World.open(t, count)
      try {
        for (const step of [...firstSteps, ...sequence, ...lastSteps]) await world.perform(step)
      } finally {
        await world.close()
      }
    }),
    { numRuns: runs, endOnFailure: !isRepeated },
  )
  t.diagnostic([...seen].map(([what, times]) => `${what}: ${times}`).join(', '))
  // Guards against a degenerate run, in which nothing happens.
  const expected = ['chunk stored', 'query with results', 'subscription with results', 'redact', 'pruned', 'seal']
  assert.deepEqual(
    expected.filter((what) => !seen.has(what)),
    [],
  )
})
