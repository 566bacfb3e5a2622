import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { type Effect, Sync } from '../../src/sync/index.ts'
import * as fc from '../support/property.ts'
import { claimOf, closed, connect, node, rowOf, runUntil, sent, topic } from './support.ts'

const pingTimeoutMs = 3000
/** When a peer counts as silent that was heard at 0. */
const silentAt = limits.pingIdleMs + limits.unansweredPings * pingTimeoutMs

/** A node that sends no digests meanwhile, so that all pings are for peers that are not heard. */
function quietSync(...peers: string[]): Sync {
  const options = {
    topic,
    node,
    gossipMs: 1e9,
    pingTimeoutMs,
    isReadOnly: false,
    random: () => 0.5,
    wallClock: () => 1,
  }
  return connect(new Sync({ ...options, isInDoubt: () => false }, 0), ...peers)
}

/** When pings are sent, from now on. */
function pingTimes(sync: Sync, end: number): number[] {
  const times: number[] = []
  for (let now = sync.wakeAt; now <= end; now = sync.wakeAt) times.push(...sent(sync.tick(now), 'ping').map(() => now))
  return times
}

test('a peer from which nothing is heard is pinged, and disconnected after three pings', () => {
  const sync = quietSync('a')
  const first = limits.pingIdleMs
  assert.deepEqual(pingTimes(sync, silentAt - 1), [first, first + pingTimeoutMs, first + 2 * pingTimeoutMs])
  assert.deepEqual(closed(runUntil(sync, silentAt)), ['a: silent'])
})

test('a peer is not pinged while other messages of it arrive', () => {
  const sync = quietSync('a', 'b')
  const effects = runUntil(sync, limits.pingIdleMs - 1)
  sync.received('b', { is: 'stored', streams: [] }, limits.pingIdleMs - 1)
  effects.push(...runUntil(sync, limits.pingIdleMs + 1))
  assert.deepEqual(
    sent(effects, 'ping').map(({ to }) => to),
    ['a'],
  )
})

test('any message after a ping is enough', () => {
  const sync = quietSync('a')
  runUntil(sync, silentAt - 1)
  sync.received('a', { is: 'stored', streams: [] }, silentAt - 1)
  assert.deepEqual(closed(runUntil(sync, silentAt + limits.pingIdleMs - 2)), [])
  assert.deepEqual(sent(sync.tick(silentAt + limits.pingIdleMs - 1), 'ping').length, 1)
})

test('changed time-outs and intervals count from now on', () => {
  const sync = quietSync('a')
  sync.setTimes({ gossipMs: 1e9, pingTimeoutMs: 500 }, 1)
  const first = limits.pingIdleMs
  assert.deepEqual(pingTimes(sync, first + 1400), [first, first + 500, first + 1000])
  assert.deepEqual(closed(runUntil(sync, first + 1500)), ['a: silent'])
  const other = quietSync('a')
  other.setTimes({ gossipMs: 100, pingTimeoutMs }, 1)
  assert.equal(other.wakeAt, 101)
  assert.equal(sent(other.tick(101), 'digest').length, 1)
})

test('peers are not silent because this node was suspended', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: silentAt - 1 }),
      fc.integer({ min: limits.stallMs, max: 3_600_000 }),
      (from, forMs) => {
        const sync = quietSync('a', 'b')
        sync.connected('new', 0)
        runUntil(sync, from)
        const isNew = sync.peers().some(({ name }) => name === 'new')
        const end = Math.max(from + forMs, sync.wakeAt + limits.stallMs)
        assert.deepEqual(closed(sync.tick(end)), [], 'what has arrived meanwhile is not read yet')
        sync.received('a', { is: 'stored', streams: [] }, end)
        if (isNew) sync.received('new', { is: 'hello', version: 1, features: [], required: [], time: 1 }, end)
        const effects: Effect[] = runUntil(sync, end + silentAt - 1)
        assert.deepEqual(closed(effects), ['b: silent'], 'a peer that stays silent is found later')
      },
    ),
  )
})

test('requests are not given up because this node was suspended', () => {
  const sync = quietSync('a', 'b')
  for (const peer of ['a', 'b']) sync.received(peer, claimOf(rowOf(1, 5)), 0)
  const end = 60_000
  assert.deepEqual(sent(sync.tick(end), 'want'), [])
  assert.deepEqual(sent(runUntil(sync, end + limits.stallMs), 'want'), [])
  assert.equal(sent(runUntil(sync, end + limits.wantTimeoutMs), 'want').length, 1)
})
