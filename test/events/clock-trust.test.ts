import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { ClockTrust } from '../../src/events/retention/clock-trust.ts'
import * as fc from '../support/property.ts'

const start = { wall: 1_700_000_000e6, steadyMs: 5000 }
const hour = limits.clockJump

const at = (ms: number, set = 0, aheadOfPeers: readonly number[] = []) => ({
  wall: start.wall + ms * 1000 + set,
  steadyMs: start.steadyMs + ms,
  aheadOfPeers,
})

test('elapsed time is no change of the clock, however much it is', () => {
  const trust = new ClockTrust(start)
  for (const ms of [0, 1000, 1e6, 1e10]) assert.equal(trust.check(at(ms)), undefined)
})

test('a change of an hour is doubted for half an hour, in both directions', () => {
  for (const jump of [hour, -hour]) {
    const trust = new ClockTrust(start)
    const doubt = trust.check(at(1000, jump))
    assert.equal(doubt?.isProblem, true)
    assert.ok(doubt.detail.startsWith(`the clock was set by ${jump / 1e6} seconds: no event is removed`))
    assert.equal(trust.check(at(1000 + limits.clockSettleMs - 1, jump)), doubt)
    assert.equal(trust.check(at(1000 + limits.clockSettleMs, jump)), undefined)
    assert.equal(trust.check(at(1e9, jump + hour - 1)), undefined)
  }
})

test('a clock that was set back again is doubted for half an hour from then on', () => {
  const trust = new ClockTrust(start)
  trust.check(at(0, hour))
  assert.ok(trust.check(at(60_000)) !== undefined)
  assert.ok(trust.check(at(60_000 + limits.clockSettleMs - 1)) !== undefined)
  assert.equal(trust.check(at(60_000 + limits.clockSettleMs)), undefined)
})

test('at the start, the clock is compared with the last time that was stored', () => {
  const cases = [
    { last: start.wall, doubt: undefined },
    { last: start.wall - hour + 1, doubt: undefined },
    { last: start.wall + hour - 1, doubt: undefined },
    // The node may just have been stopped.
    { last: start.wall - hour, doubt: false },
    { last: start.wall + hour, doubt: true },
  ]
  for (const { last, doubt } of cases) {
    const trust = new ClockTrust(start)
    trust.recall(last, start)
    assert.equal(trust.check(at(0))?.isProblem, doubt)
    assert.equal(trust.check(at(limits.clockSettleMs - 1))?.isProblem, doubt)
    assert.equal(trust.check(at(limits.clockSettleMs)), undefined)
  }
})

test('a clock that is an hour ahead of the median of the peers is doubted as long as it is', () => {
  const trust = new ClockTrust(start)
  assert.equal(trust.check(at(0, 0, [hour - 1])), undefined)
  assert.equal(trust.check(at(0, 0, [-hour, hour])), undefined)
  assert.equal(trust.check(at(0, 0, [0, hour, -1e15])), undefined)
  const doubt = trust.check(at(0, 0, [hour, 2 * hour, 0]))
  assert.equal(doubt?.isProblem, true)
  assert.equal(trust.check(at(1e9, 0, [3 * hour])), doubt, 'it is one doubt, however much time passes')
  assert.equal(trust.check(at(1e9, 0, [-3 * hour])), undefined, 'a clock that is behind removes nothing too early')
  assert.equal(trust.check(at(1e9)), undefined)
})

const steps = fc.array(fc.record({ passed: fc.nat(7_200_000), set: fc.integer({ min: -7200, max: 7200 }) }))

test('the clock is trusted when no change of at least the tolerance was seen for half an hour', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 3600 }), (list, tolerance) => {
      const trust = new ClockTrust(start)
      let [ms, set, changed] = [0, 0, Number.NEGATIVE_INFINITY]
      for (const step of list) {
        ms += step.passed
        set += step.set * 1e6
        if (Math.abs(step.set) >= tolerance) changed = ms
        const doubt = trust.check(at(ms, set), tolerance * 1e6)
        assert.equal(doubt !== undefined, ms < changed + limits.clockSettleMs)
      }
    }),
  )
})
