import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PeerStatus, PeerStatuses } from '../../src/replication/index.ts'
import * as fc from '../support/property.ts'

const options = { lowLatencyMs: 20_000, highLatencyMs: 50_000 }
type Offsets = Record<string, number>

test('a node that has all that the swarm had some time ago has a low or a high latency', () => {
  const statuses = new PeerStatuses(options)
  statuses.told('a', { s: 0, t: 0, u: 0 }, 0)
  statuses.told('b', { s: 0, t: 0, u: 0 }, 0)
  assert.deepEqual(statuses.at(49_999), {})
  assert.deepEqual(statuses.at(50_000), { a: 'LowLatency', b: 'LowLatency' })
  statuses.told('a', { s: 1, t: 1, u: 0 }, 60_000)
  const expected: [number, PeerStatus][] = [
    [79_999, 'LowLatency'],
    [80_000, 'HighLatency'],
    [109_999, 'HighLatency'],
    [110_000, 'NotWorking'],
  ]
  for (const [now, b] of expected) assert.deepEqual(statuses.at(now), { a: 'LowLatency', b })
  statuses.told('b', { s: 1, t: 0, u: 0 }, 110_001)
  assert.deepEqual(statuses.at(110_001), { a: 'LowLatency', b: 'PartiallyWorking' })
  statuses.told('b', { s: 1, t: 1, u: 0 }, 110_002)
  assert.deepEqual(statuses.at(110_002), { a: 'LowLatency', b: 'LowLatency' })
  statuses.forget('b')
  assert.deepEqual(statuses.at(110_003), { a: 'LowLatency' })
  assert.deepEqual(statuses.highest, { s: 1, t: 1, u: 0 })
})

test('a lone node keeps up with itself, also when it has nothing', () => {
  const statuses = new PeerStatuses(options)
  statuses.told('a', {}, 0)
  assert.deepEqual(statuses.at(50_000), { a: 'LowLatency' })
})

test('statuses follow from the definition, whenever nodes tell what they have', () => {
  const told = fc.record({
    after: fc.nat(15_000),
    node: fc.constantFrom('a', 'b', 'c'),
    offsets: fc.dictionary(fc.constantFrom('s', 't', 'u'), fc.nat(5)),
  })
  fc.assert(
    fc.property(fc.array(told, { maxLength: 40 }), (list) => {
      const statuses = new PeerStatuses(options)
      const heard: { at: number; offsets: Offsets }[] = []
      const last = new Map<string, Offsets>()
      let now = 0
      for (const { after, node, offsets } of list) {
        // Steps of the history are a second apart.
        now += 1000 + after
        statuses.told(node, offsets, now)
        heard.push({ at: now, offsets })
        last.set(node, offsets)
        const before = (ms: number) => highest(heard.filter(({ at }) => at <= now - ms))
        const [low, high] = [before(options.lowLatencyMs), before(options.highLatencyMs)]
        const found = statuses.at(now)
        if (!heard.some(({ at }) => at <= now - options.highLatencyMs)) assert.deepEqual(found, {})
        else for (const [name, has] of last) assert.equal(found[name], statusOf(has, low, high))
      }
    }),
  )
})

function highest(heard: readonly { offsets: Offsets }[]): Offsets {
  const all: Offsets = {}
  for (const { offsets } of heard)
    for (const [stream, offset] of Object.entries(offsets)) all[stream] = Math.max(all[stream] ?? -1, offset)
  return all
}

function statusOf(has: Offsets, low: Offsets, high: Offsets): PeerStatus {
  const missing = (bound: Offsets) => Object.entries(bound).filter(([stream, at]) => (has[stream] ?? -1) < at).length
  if (missing(low) === 0) return 'LowLatency'
  if (missing(high) === 0) return 'HighLatency'
  return missing(high) <= Object.keys(high).length - missing(high) ? 'PartiallyWorking' : 'NotWorking'
}
