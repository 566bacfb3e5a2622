import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SpinBudget } from '../../src/store/threads/writer/spin-budget.ts'

/** How often of so many times something is tried that is of use as told. */
function tried(times: number, isOfUse: (time: number) => boolean): number {
  const spins = new SpinBudget()
  let count = 0
  for (let time = 0; time < times; time++) {
    if (!spins.allows()) continue
    count++
    if (isOfUse(time)) spins.hit()
    else spins.miss()
  }
  return count
}

test('what is never of use is soon tried now and then only', () => {
  assert.ok(tried(10_000, () => false) < 400)
})

test('what is of use nine times of ten is always tried, also after a few times in vain', () => {
  assert.equal(
    tried(10_000, (time) => time % 10 !== 0),
    10_000,
  )
  assert.equal(
    tried(10_000, (time) => time % 100 > 2),
    10_000,
  )
})

test('it comes back when something is of use again', () => {
  assert.ok(tried(10_000, (time) => time > 5000) > 4900)
})
