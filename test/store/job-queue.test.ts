import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { tuning } from '../../src/base/tuning.ts'
import { JobQueue } from '../../src/store/jobs/job-queue.ts'

interface TestJob {
  readonly appId: string
  readonly name: string
  ranMs: number
}

const job = (name: string, ranMs = 0, appId = 'an app'): TestJob => ({ appId, name, ranMs })

/** The names of all waiting jobs, in scheduling order at a given time. */
function drained(queue: JobQueue<TestJob>, now: number): string[] {
  const names: string[] = []
  for (let next = queue.next(now); next !== undefined; next = queue.next(now)) names.push(next.name)
  return names
}

test('a query that has run for 20 ms is scheduled after those that have not, and the others keep their order', () => {
  equal(tuning.shortJobMs, 20)
  const queue = new JobQueue<TestJob>()
  for (const one of [job('long', 20), job('short', 19), job('new'), job('longer', 5000), job('newer')]) queue.push(one)
  equal(queue.size, 5)
  deepEqual(drained(queue, 0), ['new', 'newer', 'short', 'long', 'longer'])
  equal(queue.size, 0)
})

test('subscriptions woken by a commit come first', () => {
  const queue = new JobQueue<TestJob>()
  queue.push(job('new'))
  queue.push(job('long', 100))
  queue.wake([job('woken'), job('also woken')])
  deepEqual(drained(queue, 0), ['woken', 'also woken', 'new', 'long'])
})

test('long queries are scheduled round-robin', () => {
  const queue = new JobQueue<TestJob>()
  for (const name of ['a', 'b', 'c']) queue.push(job(name, 100))
  const turns: string[] = []
  for (let now = 0; now < 60; now += 10) {
    const next = queue.next(now)
    ok(next)
    turns.push(next.name)
    queue.push(next)
  }
  deepEqual(turns, ['a', 'b', 'c', 'a', 'b', 'c'])
})

test('a flood of short queries or commits does not starve the others', () => {
  const queue = new JobQueue<TestJob>()
  queue.push(job('short', 5))
  for (let i = 0; i < 3; i++) queue.push(job('long', 100))
  const turns: { name: string; now: number }[] = []
  for (let now = 0; now < 1000; now += 2) {
    queue.push(job('new'))
    queue.wake([job('woken')])
    const next = queue.next(now)
    ok(next)
    turns.push({ name: next.name, now })
    if (next.name === 'long' || next.name === 'short') queue.push(next)
  }
  for (const name of ['long', 'short', 'new']) {
    const at = turns.filter((turn) => turn.name === name).map(({ now }) => now)
    ok(at.length >= 1000 / (tuning.starvingMs + 10) - 1, `${name}: ${at.length} turns`)
  }
  ok(turns.filter(({ name }) => name === 'woken').length > turns.length / 2)
})

test('a new query runs after the current step, however long the steps of others take', () => {
  const queue = new JobQueue<TestJob>()
  for (let i = 0; i < 3; i++) queue.push(job('long', 100))
  for (let now = 0; now < 6000; now += 300) {
    const long = queue.next(now)
    equal(long?.name, 'long')
    queue.push(long)
    queue.push(job('new'))
    equal(queue.next(now + 250)?.name, 'new')
  }
})

test('apps are scheduled round-robin: many queries of one app only delay that app', () => {
  const queue = new JobQueue<TestJob>()
  for (const name of ['a1', 'a2', 'a3']) queue.push(job(name, 0, 'a'))
  for (const name of ['b1', 'b2']) queue.push(job(name, 0, 'b'))
  queue.push(job('c1', 0, 'c'))
  deepEqual(drained(queue, 0), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  for (const name of ['long1', 'long2']) queue.push(job(name, 100, 'a'))
  queue.push(job('long3', 100, 'b'))
  deepEqual(drained(queue, 0), ['long1', 'long3', 'long2'])
  equal(queue.size, 0)
})

test('a query of another app runs after one step of each app before it', () => {
  const queue = new JobQueue<TestJob>()
  for (let i = 0; i < 96; i++) queue.push(job('many', 0, 'a'))
  equal(queue.next(0)?.name, 'many')
  queue.push(job('one', 0, 'b'))
  equal(queue.next(500)?.name, 'many')
  equal(queue.next(1000)?.name, 'one')
  equal(queue.size, 94)
})
