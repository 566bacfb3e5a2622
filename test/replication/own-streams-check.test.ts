import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { type Doubt, OwnStreamsCheck } from '../../src/replication/index.ts'
import * as fc from '../support/property.ts'

const { ownPeerMs, ownNewsMs, ownLongestMs } = limits
const doubts: readonly Doubt[] = ['unclean', 'copied', 'restored']

const longer = (stream: number, count: number) => ({ stream, count, is: 'longer' }) as const
const isSettled = (check: OwnStreamsCheck): boolean => check.state.is === 'settled'

test('without a doubt nothing waits', () => {
  const check = new OwnStreamsCheck(undefined, 7)
  assert.deepEqual(check.state, { is: 'settled' })
})

test('without a peer it ends after five seconds, except for a restored backup', () => {
  for (const doubt of doubts) {
    const check = new OwnStreamsCheck(doubt, 100)
    const until = doubt === 'restored' ? undefined : 100 + ownPeerMs
    assert.deepEqual(check.state, { is: 'waiting', for: 'peer', until })
    check.tick(100 + ownPeerMs - 1)
    assert.equal(isSettled(check), false)
    check.tick(100 + ownPeerMs)
    assert.equal(isSettled(check), doubt !== 'restored')
    check.tick(1e9)
    assert.equal(isSettled(check), doubt !== 'restored')
  }
})

test('the heads of one peer are enough, when none of its own streams is longer', () => {
  for (const doubt of doubts) {
    const check = new OwnStreamsCheck(doubt, 0)
    check.connected('a', 4000)
    assert.deepEqual(check.state.is === 'waiting' && check.state.for, 'heads')
    check.tick(9000)
    assert.equal(isSettled(check), false)
    const compared = [
      { stream: 0, count: 4, is: 'equal' },
      { stream: 1, count: 2, is: 'shorter' },
      { stream: 2, count: 9, is: 'forked' },
    ] as const
    check.compared('a', compared, 9000)
    assert.equal(isSettled(check), true)
    // Another history of it is known: it must not be continued.
    assert.deepEqual(check.abandoned, [2])
  }
})

test('a peer that repeats itself does not make it wait for ever', () => {
  const check = new OwnStreamsCheck('unclean', 0)
  check.connected('a', 0)
  let now = 0
  for (; !isSettled(check); now += 1000) {
    check.compared('a', [longer(0, 60)], now)
    assert.ok(now <= ownNewsMs + ownPeerMs + 1000)
  }
  assert.deepEqual(check.abandoned, [0])
})

test('a stream that was adopted meanwhile is not waited for', () => {
  const check = new OwnStreamsCheck('unclean', 0)
  check.connected('a', 0)
  check.connected('b', 0)
  check.compared('a', [longer(0, 60), longer(1, 5)], 0)
  check.adopted(0, 60, 1)
  check.compared('b', [longer(0, 60)], 2)
  check.compared('b', [{ stream: 0, count: 60, is: 'equal' }], 3)
  assert.deepEqual([...check.wanted], [[1, 5]])
})

test('a longer chain is adopted first, however many peers have it', () => {
  const check = new OwnStreamsCheck('restored', 0)
  check.connected('a', 0)
  check.connected('b', 0)
  check.compared('a', [longer(0, 10), longer(3, 2)], 1)
  check.compared('b', [longer(0, 12)], 2)
  assert.deepEqual(Object.fromEntries(check.wanted), { 0: 12, 3: 2 })
  assert.deepEqual(check.state.is === 'waiting' && check.state.for, 'events')
  check.adopted(0, 11, 3)
  check.adopted(3, 2, 4)
  assert.equal(isSettled(check), false)
  check.adopted(0, 12, 5)
  assert.equal(isSettled(check), true)
})

test('a longer chain that turns out to be a fork is not waited for, also when another peer has it', () => {
  const check = new OwnStreamsCheck('unclean', 0)
  check.connected('a', 0)
  check.connected('b', 0)
  check.compared('a', [longer(0, 10), longer(1, 5)], 1)
  check.froze(0, 2)
  check.compared('b', [longer(0, 11)], 3)
  assert.deepEqual([...check.wanted], [[1, 5]])
  check.adopted(1, 5, 4)
  assert.equal(isSettled(check), true)
})

test('a longer chain that no peer sends is abandoned some time after the last news', () => {
  for (const doubt of doubts) {
    const check = new OwnStreamsCheck(doubt, 0)
    check.connected('a', 0)
    check.compared('a', [longer(0, 10)], 100)
    check.adopted(0, 4, 5000)
    const end = 5000 + ownNewsMs + ownPeerMs
    assert.deepEqual(check.state, { is: 'waiting', for: 'events', until: end })
    check.tick(end - 1)
    assert.equal(isSettled(check), false)
    check.tick(end)
    assert.equal(isSettled(check), true)
    assert.deepEqual(check.abandoned, [0])
  }
})

test('a peer that connects and leaves again does not make it wait for ever', () => {
  const check = new OwnStreamsCheck('unclean', 0)
  let now = 0
  for (; !isSettled(check); now += 1000) {
    check.connected('a', now)
    check.disconnected('a', now + 500)
    check.tick(now + 1000)
    assert.ok(now < 3 * ownPeerMs)
  }
  assert.equal(now, 2 * ownPeerMs)
})

test('the operator ends it at any time', () => {
  const alone = new OwnStreamsCheck('restored', 0)
  alone.accepted(1e6)
  assert.equal(isSettled(alone), true)
  const behind = new OwnStreamsCheck('restored', 0)
  behind.connected('a', 0)
  behind.compared('a', [longer(2, 10)], 1)
  behind.accepted(2)
  assert.deepEqual([isSettled(behind), behind.abandoned], [true, [2]])
})

test('a longer chain that a peer has later makes it wait again, until its events were adopted', () => {
  for (const check of [new OwnStreamsCheck(undefined, 0), new OwnStreamsCheck('unclean', 0)]) {
    check.tick(ownPeerMs)
    check.connected('a', 20_000)
    check.behind('a', { stream: 1, count: 5 }, 40_000)
    const until = 40_000 + ownNewsMs + ownPeerMs
    assert.deepEqual([check.state, check.doubt], [{ is: 'waiting', for: 'events', until }, 'behind'])
    check.adopted(1, 4, 40_001)
    assert.equal(isSettled(check), false)
    check.adopted(1, 5, 40_002)
    assert.deepEqual([isSettled(check), check.abandoned], [true, []])
  }
})

test('a comparison that comes after it has settled makes it wait again', () => {
  const check = new OwnStreamsCheck('unclean', 0)
  check.tick(ownPeerMs)
  check.connected('a', ownPeerMs)
  check.compared('a', [longer(0, 7), { stream: 1, count: 3, is: 'equal' }], ownPeerMs)
  assert.deepEqual([...check.wanted], [[0, 7]])
})

test('a stream that is not continued any more is not waited for again', () => {
  const check = new OwnStreamsCheck(undefined, 0)
  check.connected('a', 0)
  check.behind('a', { stream: 0, count: 5 }, 0)
  check.tick(ownNewsMs + ownPeerMs)
  assert.deepEqual([isSettled(check), check.abandoned], [true, [0]])
  check.froze(1, 20_000)
  check.behind('a', { stream: 0, count: 6 }, 20_001)
  check.behind('a', { stream: 1, count: 6 }, 20_002)
  assert.equal(isSettled(check), true)
  check.behind('a', { stream: 2, count: 6 }, 20_003)
  check.adopted(2, 6, 20_004)
  assert.deepEqual([isSettled(check), check.abandoned], [true, [0]])
})

test('a longer chain that is known before a peer was compared does not replace the comparison', () => {
  const check = new OwnStreamsCheck('restored', 0)
  check.connected('a', 0)
  check.behind('a', { stream: 0, count: 5 }, 1)
  check.adopted(0, 5, 2)
  assert.deepEqual([isSettled(check), check.doubt], [false, 'restored'])
})

test('peers that connect again and again do not make it wait for ever', () => {
  const check = new OwnStreamsCheck(undefined, 0)
  check.connected('a', 0)
  check.behind('a', { stream: 0, count: 5 }, 0)
  let now = 0
  for (; !isSettled(check); now += 1000) {
    check.disconnected('a', now)
    check.connected('a', now)
    check.tick(now)
    assert.ok(now <= ownLongestMs)
  }
  assert.deepEqual(check.abandoned, [0])
})

const peer = fc.constantFrom('a', 'b')
const stream = fc.nat(2)
const compared = fc.record({
  stream,
  count: fc.nat(5),
  is: fc.constantFrom<'equal' | 'shorter' | 'longer'>('equal', 'shorter', 'longer'),
})

type Input = (check: OwnStreamsCheck, now: number) => void
const inputOf = (is: string, input: Input) => ({ is, input })
const inputs = fc.oneof(
  fc.constant(inputOf('tick', (check, now) => check.tick(now))),
  peer.map((name) => inputOf('connected', (check, now) => check.connected(name, now))),
  peer.map((name) => inputOf('disconnected', (check, now) => check.disconnected(name, now))),
  fc
    .tuple(peer, fc.array(compared, { maxLength: 3 }))
    .map(([name, streams]) => inputOf('compared', (check, now) => check.compared(name, streams, now))),
  fc
    .tuple(peer, stream, fc.integer({ min: 1, max: 5 }))
    .map(([name, number, count]) =>
      inputOf('behind', (check, now) => check.behind(name, { stream: number, count }, now)),
    ),
  fc
    .tuple(stream, fc.nat(6))
    .map(([number, count]) => inputOf('adopted', (check, now) => check.adopted(number, count, now))),
  stream.map((number) => inputOf('froze', (check, now) => check.froze(number, now))),
)
const steps = fc.array(fc.record({ wait: fc.oneof(fc.nat(10), fc.nat(20_000)), what: inputs }))

/** What must hold in any state. */
function assertState(check: OwnStreamsCheck, now: number, hasCompared: boolean): void {
  const { state, wanted, doubt, abandoned } = check
  for (const stream of abandoned) assert.equal(wanted.has(stream), false)
  if (state.is === 'settled') {
    assert.equal(wanted.size, 0)
    return
  }
  assert.equal(state.for === 'events', wanted.size > 0)
  assert.equal(state.until === undefined, doubt === 'restored' && !hasCompared)
  if (state.until !== undefined) assert.ok(state.until > now && state.until <= now + ownNewsMs + ownPeerMs)
}

test('it settles by a comparison without anything missing or when its time is over, and waits again for more only', () => {
  fc.assert(
    fc.property(fc.constantFrom(...doubts), steps, (doubt, list) => {
      const check = new OwnStreamsCheck(doubt, 0)
      let [now, hasCompared] = [0, false]
      for (const { wait, what } of list) {
        const [before, left] = [check.state, check.abandoned.length]
        now += wait
        what.input(check, now)
        hasCompared ||= what.is === 'compared' || check.doubt === 'behind'
        assertState(check, now, hasCompared)
        const isOver = before.is === 'settled' || now >= (before.until ?? Number.POSITIVE_INFINITY)
        if (isOver && !isSettled(check)) assert.ok(check.doubt === 'behind' && check.wanted.size > 0)
        else if (!isOver && isSettled(check)) assert.ok(hasCompared && check.abandoned.length === left)
      }
    }),
  )
})
