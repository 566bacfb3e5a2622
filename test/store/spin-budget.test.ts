import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SpinBudget } from '../../src/store/threads/writer/spin-budget.ts'

/** Number of spins in `times` attempts, given which of them succeed. */
function spinsIn(times: number, succeeds: (time: number) => boolean): number {
  const spins = new SpinBudget()
  let count = 0
  for (let time = 0; time < times; time++) {
    if (!spins.allows()) continue
    count++
    if (succeeds(time)) spins.hit()
    else spins.miss()
  }
  return count
}

test('spinning that never succeeds becomes rare', () => {
  assert.ok(spinsIn(10_000, () => false) < 400)
})

test('spinning that succeeds in nine of ten attempts is always allowed, also after a few misses', () => {
  assert.equal(
    spinsIn(10_000, (time) => time % 10 !== 0),
    10_000,
  )
  assert.equal(
    spinsIn(10_000, (time) => time % 100 > 2),
    10_000,
  )
})

test('spinning becomes regular again once it succeeds', () => {
  assert.ok(spinsIn(10_000, (time) => time > 5000) > 4900)
})
