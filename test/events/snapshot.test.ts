import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqliteStore } from '../support/api.ts'
import * as fc from '../support/property.ts'
import { type Kind, OwnEvents } from './snapshot/own-events.ts'

/** An operation on the store. */
type Step =
  /** A request with events for these streams; with `waits`, the next step waits for its response. */
  | { readonly kind: 'append'; readonly streams: readonly number[]; readonly waits: boolean }
  | { readonly kind: 'offsets' }
  | { readonly kind: Kind }

const kinds: readonly Kind[] = ['subscribe', 'subscribe_monotonic', 'query']

function steps(streams: number): fc.Arbitrary<Step[]> {
  const append = fc.record({
    kind: fc.constant('append' as const),
    streams: fc.array(fc.nat(streams - 1), { minLength: 1, maxLength: 6 }),
    waits: fc.boolean(),
  })
  const other = fc.constantFrom<Step>({ kind: 'offsets' }, ...kinds.map((kind) => ({ kind })))
  return fc.array(fc.oneof({ weight: 6, arbitrary: append }, { weight: 1, arbitrary: other }), {
    minLength: 20,
    maxLength: 120,
    size: 'max',
  })
}

test('subscriptions and queries only see whole commits, in total order', async (t) => {
  const own = new OwnEvents()
  const store = await sqliteStore(t, { committed: (requests) => own.committed(requests) })
  own.store = store
  const run = async (steps: readonly Step[]): Promise<void> => {
    const base = await own.begin()
    const followed = kinds.map((kind) => own.start(kind, base))
    for (const step of steps) {
      if (step.kind === 'append') await own.append(step.streams, step.waits)
      else if (step.kind === 'offsets') own.askOffsets()
      else followed.push(own.start(step.kind, base))
    }
    await own.settle()
    for (const one of followed) await own.check(one, base)
    own.cancel()
  }
  const property = fc.asyncProperty(fc.integer({ min: 2, max: 4 }).chain(steps), (steps) => run(steps))
  // A failure also depends on the timing of threads, so it cannot be shrunk.
  await fc.assert(property, { numRuns: 60, endOnFailure: true, interruptAfterTimeLimit: 60_000 })
  assert.ok(own.commits > 100, `events came in ${own.commits} commits`)
})
