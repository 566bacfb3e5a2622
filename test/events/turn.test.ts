import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JobTurn } from '../../src/events/query/turn.ts'
import { NdjsonWriter } from '../../src/store/jobs/ndjson-writer.ts'

const [never, longAgo] = [Number.POSITIVE_INFINITY, 0]

/** Number of steps until the turn is over. */
function stepsOf(turn: JobTurn, deadline: number, most: number): number {
  turn.begin(deadline)
  for (let steps = 1; steps <= most; steps++) if (turn.isOver()) return steps
  return most
}

/** A stopped clock, later than the deadline `longAgo`. */
const clock = { now: () => 0, steadyMs: () => 1 }

test('a turn with slow steps ends soon, even after turns with quick steps', () => {
  const turn = new JobTurn(new NdjsonWriter(1024), clock)
  assert.ok(stepsOf(turn, longAgo, 1000) <= 16)
  assert.equal(stepsOf(turn, never, 1000), 1000)
  const slow = Array.from({ length: 9 }, () => stepsOf(turn, longAgo, 1000))
  assert.ok((slow[0] ?? 0) <= 64, `${slow}`)
  assert.deepEqual(slow.slice(7), [1, 1])
})

test('a finished turn stays finished until the next one begins', () => {
  const turn = new JobTurn(new NdjsonWriter(1024), clock)
  stepsOf(turn, longAgo, 1000)
  assert.equal(turn.isOver(), true)
  turn.begin(never)
  assert.equal(turn.isOver(), false)
})

test('the weight of a step counts as that many steps', () => {
  const turn = new JobTurn(new NdjsonWriter(1024), clock)
  stepsOf(turn, never, 1000)
  turn.begin(longAgo)
  assert.equal(turn.isOver(64), true)
})
