import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { clockRecordText, parseClockRecord } from '../../src/events/retention/clock-record.ts'
import { type ClockDoubt, ClockTrust } from '../../src/events/retention/clock-trust.ts'

const start = { wall: 1_700_000_000e6, steadyMs: 5000 }
const hour = limits.clockJump
const settleMs = limits.clockSettleMs
const none = { record: undefined, hasEvents: true, newest: undefined }

const at = (ms: number, set = 0) => ({ wall: start.wall + ms * 1000 + set, steadyMs: start.steadyMs + ms })

/** A start of a node that was stopped at `ms`, some time later. */
function restarted(trust: ClockTrust, ms: number, later: number): ClockTrust {
  const record = parseClockRecord(clockRecordText(trust.record(at(ms))))
  const reading = { wall: at(ms).wall + later, steadyMs: 0 }
  const next = new ClockTrust(reading)
  next.recall({ ...none, record }, reading)
  return next
}

const doubtAfter = (trust: ClockTrust, passedMs: number, wall: number): ClockDoubt | undefined =>
  trust.check({ wall: wall + passedMs * 1000, steadyMs: passedMs }).doubt

test('elapsed time is no change of the clock, however much it is', () => {
  const trust = new ClockTrust(start)
  for (const ms of [0, 1000, 1e6, 1e10]) assert.deepEqual(trust.check(at(ms)), { doubt: undefined, setBy: undefined })
})

test('a change of an hour is noticed once, in both directions, and is no reason to doubt the ages', () => {
  for (const jump of [hour, -hour]) {
    const trust = new ClockTrust(start)
    assert.deepEqual(trust.check(at(1000, jump)), { doubt: undefined, setBy: jump })
    assert.deepEqual(trust.check(at(2000, jump)), { doubt: undefined, setBy: undefined })
    assert.equal(trust.check(at(3000, jump + hour - 1)).setBy, undefined)
  }
})

test('many small changes are a large one', () => {
  const trust = new ClockTrust(start)
  assert.equal(trust.check(at(1000, hour / 2)).setBy, undefined)
  assert.equal(trust.check(at(2000, hour)).setBy, hour)
})

test('without a record, the clock at the start is compared with the newest own event', () => {
  const cases = [
    { newest: start.wall, doubt: undefined },
    { newest: start.wall - hour + 1, doubt: undefined },
    { newest: start.wall + hour - 1, doubt: undefined },
    // The node may just have been stopped.
    { newest: start.wall - hour, doubt: false },
    { newest: start.wall + hour, doubt: true },
  ]
  for (const { newest, doubt } of cases) {
    const trust = new ClockTrust(start)
    trust.recall({ ...none, newest }, start)
    assert.equal(trust.check(at(0)).doubt?.isProblem, doubt)
    assert.equal(trust.check(at(settleMs - 1)).doubt?.isProblem, doubt)
    assert.equal(trust.check(at(settleMs)).doubt, undefined)
  }
  const trust = new ClockTrust(start)
  trust.recall(none, start)
  assert.equal(trust.check(at(0)).doubt, undefined)
})

test('a clock that is an hour later after a start is doubted for half an hour, without being a problem', () => {
  for (const [later, isProblem] of [
    [hour - 1, undefined],
    [hour, false],
    [1000 * hour, false],
  ] as const) {
    const trust = restarted(new ClockTrust(start), 1000, later)
    const wall = at(1000).wall + later
    assert.equal(doubtAfter(trust, 0, wall)?.isProblem, isProblem)
    assert.equal(doubtAfter(trust, settleMs - 1, wall)?.isProblem, isProblem)
    assert.equal(doubtAfter(trust, settleMs, wall), undefined)
  }
})

test('a clock that is an hour earlier after a start was set, by at least that', () => {
  const trust = restarted(new ClockTrust(start), 1000, -hour)
  const reading = { wall: at(1000).wall - hour, steadyMs: 0 }
  assert.deepEqual(trust.check(reading), { doubt: undefined, setBy: -hour })
  assert.deepEqual(trust.check(reading), { doubt: undefined, setBy: undefined })
})

test('a doubt lasts over restarts, and is over after half an hour in all', () => {
  let trust = restarted(new ClockTrust(start), 0, 10 * hour)
  for (let i = 0; i < 3; i++) {
    const wall = start.wall + 10 * hour * (i + 1)
    assert.ok(doubtAfter(trust, settleMs / 4, wall) !== undefined)
    const record = trust.record({ wall: wall + settleMs * 250, steadyMs: settleMs / 4 })
    const reading = { wall: wall + 10 * hour, steadyMs: 0 }
    trust = new ClockTrust(reading)
    trust.recall({ ...none, record }, reading)
  }
  const wall = start.wall + 40 * hour
  assert.ok(doubtAfter(trust, settleMs / 4 - 1, wall) !== undefined)
  assert.equal(doubtAfter(trust, settleMs / 4, wall), undefined)
})

test('a clock that is an hour ahead of the median of the peers is doubted as long as it is', () => {
  const trust = new ClockTrust(start)
  const doubtAt = (ms: number, ahead: readonly number[]) => trust.check(at(ms), ahead).doubt
  assert.equal(doubtAt(0, [hour - 1]), undefined)
  assert.equal(doubtAt(0, [-hour, hour]), undefined)
  assert.equal(doubtAt(0, [0, hour, -1e15]), undefined)
  const doubt = doubtAt(0, [hour, 2 * hour, 0])
  assert.equal(doubt?.isProblem, true)
  assert.equal(doubtAt(1e9, [3 * hour]), doubt, 'it is one doubt, however much time passes')
  assert.equal(doubtAt(1e9, [-3 * hour]), undefined, 'a clock that is behind removes nothing too early')
  assert.equal(doubtAt(1e9, []), undefined)
})

test('a clock that was ahead of the peers is doubted for half an hour after a restart', () => {
  const before = new ClockTrust(start)
  before.check(at(1000), [2 * hour])
  const trust = restarted(before, 1000, 0)
  assert.ok(doubtAfter(trust, settleMs - 1, at(1000).wall) !== undefined)
  assert.equal(doubtAfter(trust, settleMs, at(1000).wall), undefined)
})

test('a malformed record of the clock is refused', () => {
  const good = { seen: 1, doubtMs: 0, from: 0, eras: [[0, 1, -5, 0]] }
  assert.deepEqual(parseClockRecord(JSON.stringify(good)).eras, [{ from: 0, to: 1, shift: -5, stopped: 0 }])
  for (const wrong of [
    null,
    7,
    {},
    { ...good, seen: -1 },
    { ...good, seen: '1' },
    { ...good, doubtMs: null },
    { ...good, from: undefined },
    { ...good, eras: {} },
    { ...good, eras: [7] },
    { ...good, eras: [[0, 1, 2]] },
    { ...good, eras: [[0, 1, 2, -3]] },
    { ...good, eras: [[0, 1, null, 3]] },
    { ...good, eras: Array.from({ length: limits.clockEras + 1 }, () => [0, 1, 2, 3]) },
  ])
    assert.throws(() => parseClockRecord(JSON.stringify(wrong)), /the stored record of the clock is malformed/)
  assert.throws(() => parseClockRecord('{'))
  assert.equal(parseClockRecord(JSON.stringify({ ...good, doubtMs: 1e15 })).doubtMs, settleMs)
})
