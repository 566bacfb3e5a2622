import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { tuning } from '../../src/base/tuning.ts'
import { PublishPriority } from '../../src/store/threads/reader/publish-priority.ts'

/** A priority over a simulated clock and append counter. */
function setUp(appends: number) {
  const world = { appends, now: 1000, pauses: 0 }
  const clock = { now: () => world.now * 1000, steadyMs: () => world.now }
  const priority = new PublishPriority(world, clock, () => void world.pauses++)
  return { world, priority }
}

test('a long query gets whole slices without a pause while nothing is published', () => {
  const { world, priority } = setUp(17)
  for (let i = 0; i < 100; i++, world.now += 10) equal(priority.sliceMs(true), tuning.sliceMs)
  equal(world.pauses, 0)
})

test('a long query yields while events are published, and no longer than 100 ms after that', () => {
  const { world, priority } = setUp(17)
  const slices: number[] = []
  world.appends++
  for (let i = 0; i < 12; i++, world.now += 10) slices.push(priority.sliceMs(true))
  deepEqual(slices, [...Array(10).fill(2), tuning.sliceMs, tuning.sliceMs])
  equal(world.pauses, 10)
})

test('short queries are not slowed down by publishing', () => {
  const { world, priority } = setUp(0)
  world.appends++
  equal(priority.sliceMs(false), tuning.sliceMs)
  equal(world.pauses, 0)
})
