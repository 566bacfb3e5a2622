import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../../src/base/format.ts'
import { limits } from '../../../src/base/limits.ts'
import { PeerBudgets } from '../../../src/swarm/peers/index.ts'
import { TokenBucket } from '../../../src/swarm/peers/token-bucket.ts'
import * as fc from '../../support/property.ts'

const peer = 'a'.repeat(32)
const nothing = { inVain: 0, newStream: undefined }

/** The name of a stream: a key and a number. */
const streamOf = (node: number, number = 0): string => `${node.toString(16).padStart(32, '0')}${number}`

test('a token bucket gives its capacity and what was added since, and never more', () => {
  const steps = fc.array(
    fc.record({ ms: fc.integer({ min: -500, max: 3000 }), count: fc.integer({ min: 0, max: 40 }) }),
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 20 }), steps, (capacity, perSecond, all) => {
      const bucket = new TokenBucket({ capacity, perSecond }, 0)
      let [now, taken, latest] = [0, 0, 0]
      for (const { ms, count } of all) {
        now = Math.max(0, now + ms)
        latest = Math.max(latest, now)
        if (bucket.take(count, now)) taken += count
        assert.ok(taken <= capacity + (latest / 1000) * perSecond + 1e-6)
      }
      // A full bucket again after the time that it needs.
      assert.ok(bucket.take(capacity, latest + (capacity / perSecond) * 1000 + 1))
    }),
  )
})

test('a peer exceeds the budget of verifications by what changes nothing', () => {
  const budgets = new PeerBudgets()
  const { verificationsInVain, verificationsInVainPerSecond } = limits
  assert.equal(budgets.charge(peer, { ...nothing, inVain: verificationsInVain }, 0), undefined)
  assert.equal(budgets.charge(peer, { ...nothing, inVain: 1 }, 0), 'tooManyVerifications')
  assert.equal(budgets.charge('b'.repeat(32), { ...nothing, inVain: 1 }, 0), undefined)
  const second = { ...nothing, inVain: verificationsInVainPerSecond }
  for (let now = 1000; now <= 10_000; now += 1000) assert.equal(budgets.charge(peer, second, now), undefined)
  assert.equal(budgets.charge(peer, { ...nothing, inVain: 1 }, 10_000), 'tooManyVerifications')
})

test('catching up with a million events, one chunk each, costs no verification in vain', () => {
  const budgets = new PeerBudgets()
  for (let i = 0; i < 1_000_000; i++) assert.equal(budgets.charge(peer, nothing, 0), undefined)
  assert.equal(budgets.charge(peer, { ...nothing, inVain: limits.verificationsInVain }, 0), undefined)
})

test('a peer may send all streams that a topic can have, also again and again', () => {
  const budgets = new PeerBudgets()
  for (let round = 0; round < 3; round++)
    for (let i = 0; i < format.streamsPerTopic; i++)
      assert.equal(budgets.charge(peer, { inVain: 0, newStream: streamOf(i >> 8, i & 255) }, round), undefined)
})

test('a peer exceeds the budget of streams by making up nodes, and has some of it again later', () => {
  const budgets = new PeerBudgets()
  let next = 0
  const untilExceeded = (now: number): number => {
    const first = next
    while (budgets.charge(peer, { inVain: 0, newStream: streamOf(next++) }, now) === undefined)
      assert.ok(next < 10 * limits.newStreamsPerHour, 'a peer makes up streams without end')
    return next - first
  }
  const made = untilExceeded(0)
  // Some streams have the same hash as another one, and are not charged.
  assert.ok(made > limits.newStreamsPerHour && made < 1.25 * limits.newStreamsPerHour, `${made} streams`)
  assert.ok(untilExceeded(60_000) < limits.newStreamsPerHour / 30)
})

test('the budgets of a bounded number of peers are remembered', () => {
  const budgets = new PeerBudgets()
  const all = { ...nothing, inVain: limits.verificationsInVain }
  budgets.charge(peer, all, 0)
  for (let i = 0; i < limits.budgetedPeers - 1; i++) budgets.charge(`${i}`, { ...nothing, inVain: 1 }, 0)
  assert.equal(budgets.charge(peer, all, 0), 'tooManyVerifications')
  for (let i = 0; i < limits.budgetedPeers; i++) budgets.charge(`${i}`, { ...nothing, inVain: 1 }, 0)
  assert.equal(budgets.charge(peer, all, 0), undefined)
})
