import assert from 'node:assert/strict'
import { test } from 'node:test'
import { publishedJson } from '../../src/events/publish/index.ts'
import type { NodeId } from '../../src/identity/index.ts'
import type { Appended } from '../../src/store/index.ts'
import * as fc from '../support/property.ts'

const node = 'uM4LLCWgoXTCV1kQXNYvzOZBsHnRjCmgsPRvQhy5vGc' as NodeId

function naive({ lamport, time, runs }: Appended): string {
  let next = lamport
  const data = runs.flatMap(({ stream, offset, count }) =>
    Array.from({ length: count }, (_, i) => ({
      lamport: next++,
      stream: `${node}-${stream}`,
      offset: offset + i,
      timestamp: time,
    })),
  )
  return JSON.stringify({ data })
}

/** Numbers of any size, often ones whose successor has one digit more. */
const number = fc.oneof(
  fc.nat(),
  fc.record({ digits: fc.integer({ min: 1, max: 15 }), before: fc.nat(150) }).map(({ digits, before }) => {
    return Math.max(0, 10 ** digits - before)
  }),
  fc.nat(100).map((before) => 2 ** 31 - before),
)

test('the response of a publish is the JSON of the metadata of each event', () => {
  const run = fc.record({ stream: fc.nat(3000), offset: number, count: fc.nat(300) })
  fc.assert(
    fc.property(number, number, fc.array(run, { maxLength: 5 }), (lamport, time, runs) => {
      const appended = { lamport, time, runs }
      assert.equal(publishedJson(node, appended).toString(), naive(appended))
    }),
    { numRuns: 2000 },
  )
})

test('the response is correct for the largest numbers and the maximum number of events', () => {
  for (const appended of [
    { lamport: Number.MAX_SAFE_INTEGER - 3, time: 1, runs: [{ stream: 0, offset: 99_999_999, count: 3 }] },
    { lamport: 0, time: 0, runs: [{ stream: 1, offset: 0, count: 100_001 }] },
  ])
    assert.equal(publishedJson(node, appended).toString(), naive(appended))
})
