import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'
import './acceptance/stores.ts'
import { isRepeated } from '../support/seed.ts'
import { everyOutcome, sequences } from './model/steps.ts'
import { World } from './model/world.ts'

/**
 * Number of sequences; SHOAL_TEST_RUNS sets another one. Only a run with SHOAL_TEST_SEED shrinks a failing sequence,
 * because that takes long.
 */
const runs = Number(process.env['SHOAL_TEST_RUNS'] ?? 20)
const secondsPerRun = 30

test('after any sequence of operations a store gives the same results as an array of all events', {
  timeout: 1000 * secondsPerRun * (runs + 10),
}, async (t) => {
  const folder = temporaryFolder(t)
  const seen = new Map<string, number>()
  const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1)
  let worlds = 0
  await fc.assert(
    fc.asyncProperty(sequences, fc.integer({ min: 1, max: 3 }), async (steps, sources) => {
      const world = await World.open(join(folder, `${worlds++}.db`), sources, count)
      try {
        for (const step of steps) await world.perform(step)
        await world.finish()
      } finally {
        await world.close()
      }
    }),
    { numRuns: runs, endOnFailure: !isRepeated, examples: [[everyOutcome, 1]] },
  )
  t.diagnostic([...seen].map(([what, times]) => `${what}: ${times}`).join(', '))
  // Guards against operations without any effect. The example has all of these, so that it does not depend on chance.
  const expected = [
    'chunk stored',
    'chunk waiting',
    'chunk known',
    'pruned',
    'prune refused',
    'redacted',
    'redacted by others',
    'reopened',
    'query with events',
    'query without events',
    'query from a lower bound on',
    'query up to an upper bound',
    'read while events were written',
    'read while events were removed',
  ]
  assert.deepEqual(
    expected.filter((what) => !seen.has(what)),
    [],
  )
})
