import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JobSlice } from '../../src/events/query/job-slice.ts'
import { NdjsonWriter } from '../../src/store/jobs/ndjson-writer.ts'

const [never, longAgo] = [Number.POSITIVE_INFINITY, 0]

/** Number of steps until the slice is over. */
function stepsOf(slice: JobSlice, deadline: number, most: number): number {
  slice.begin(deadline)
  for (let steps = 1; steps <= most; steps++) if (slice.isOver()) return steps
  return most
}

/** A stopped clock, later than the deadline `longAgo`. */
const clock = { now: () => 0, steadyMs: () => 1 }

test('a slice with slow steps ends soon, even after slices with quick steps', () => {
  const slice = new JobSlice(new NdjsonWriter(1024), clock)
  assert.ok(stepsOf(slice, longAgo, 1000) <= 16)
  assert.equal(stepsOf(slice, never, 1000), 1000)
  const slow = Array.from({ length: 9 }, () => stepsOf(slice, longAgo, 1000))
  assert.ok((slow[0] ?? 0) <= 64, `${slow}`)
  assert.deepEqual(slow.slice(7), [1, 1])
})

test('a finished slice stays finished until the next one begins', () => {
  const slice = new JobSlice(new NdjsonWriter(1024), clock)
  stepsOf(slice, longAgo, 1000)
  assert.equal(slice.isOver(), true)
  slice.begin(never)
  assert.equal(slice.isOver(), false)
})

test('the weight of a step counts as that many steps', () => {
  const slice = new JobSlice(new NdjsonWriter(1024), clock)
  stepsOf(slice, never, 1000)
  slice.begin(longAgo)
  assert.equal(slice.isOver(64), true)
})
