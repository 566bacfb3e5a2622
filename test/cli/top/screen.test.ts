import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ratesBetween } from '../../../src/cli/top/rates.ts'
import { bytesText, durationText, screenLines } from '../../../src/cli/top/screen.ts'
import type { Snapshot } from '../../../src/cli/top/snapshot.ts'
import * as fc from '../../support/property.ts'

const node = 'DKSzBkzUGMQkjXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX'
const earlier: Snapshot = {
  atMs: 5000,
  nodeId: node,
  displayName: 'Press 7',
  phase: 'running',
  uptimeSeconds: 7265,
  counters: { published: 100, received: 1000, queries: 7, cpuSeconds: 3 },
  runningQueries: 2,
  subscriptions: 5,
  storeBytes: 12.34 * 1024 * 1024,
  filesBytes: 0,
  freeBytes: 64 * 1024 ** 3,
  memoryBytes: 180 * 1024 * 1024,
  peers: [
    { nodeId: `A${node}`, name: 'Press 8', lag: 0, missing: 3, roundTripSeconds: 0.000_42 },
    { nodeId: `B${node}`, name: 'far away', lag: 70, missing: 0, roundTripSeconds: 0.0815 },
    { nodeId: `C${node}`, name: '', lag: 0, missing: 0, roundTripSeconds: undefined },
  ],
}
const later: Snapshot = {
  ...earlier,
  atMs: 7000,
  counters: { published: 125, received: 1500, queries: 8, cpuSeconds: 3.3 },
}

test('the screen shows rates, storage, queries, and the peers that are furthest behind first', () => {
  assert.deepEqual(screenLines(earlier, later, { columns: 200, rows: 50 }), [
    `Press 7  ${node}  running, up 2 h 1 min`,
    '',
    'events    12.5/s published      250/s received        3 missing here',
    'queries   2 running             0.5/s ended           5 subscriptions',
    'storage   12.3 MiB events       0 B files             64.0 GiB free on disk',
    'process   15 % CPU              180 MiB memory',
    '',
    'PEERS (3)                                LAG  MISSING HERE    ROUND TRIP',
    'BDKSzBkz  far away                        70             0         82 ms',
    'ADKSzBkz  Press 8                          0             3        420 µs',
    'CDKSzBkz                                   0             0             -',
  ])
})

test('after a restart of the node there are no rates, since its counters start again', () => {
  const restarted = { ...later, counters: { ...later.counters, published: 0 } }
  assert.equal(ratesBetween(earlier, restarted).published, undefined)
  assert.equal(ratesBetween(earlier, earlier).received, undefined, 'no time has passed')
  assert.match(screenLines(earlier, restarted, { columns: 80, rows: 24 })[2] ?? '', /^events {4}-\/s published/)
})

test('the lines fit a screen of any size, and control characters in names are escaped', () => {
  const text = fc.string({ unit: 'binary', maxLength: 40 })
  const peer = fc.record({
    nodeId: text,
    name: text,
    lag: fc.nat(),
    missing: fc.nat(),
    roundTripSeconds: fc.constant(1),
  })
  const size = fc.record({ columns: fc.integer({ min: 1, max: 120 }), rows: fc.integer({ min: 1, max: 30 }) })
  fc.assert(
    fc.property(text, fc.array(peer, { maxLength: 20 }), size, (displayName, peers, given) => {
      const lines = screenLines(earlier, { ...later, displayName, peers }, given)
      assert.ok(lines.length <= given.rows)
      for (const line of lines) {
        assert.ok(Array.from(line).length <= given.columns)
        assert.doesNotMatch(line, /\p{Cc}/u)
      }
    }),
    { numRuns: 30 },
  )
})

test('sizes and durations are short texts', () => {
  const sizes = [0, 1023, 1024, 1536, 1024 ** 2 * 100, 1024 ** 5]
  assert.deepEqual(sizes.map(bytesText), ['0 B', '1023 B', '1.0 KiB', '1.5 KiB', '100 MiB', '1024 TiB'])
  assert.deepEqual([0, 59.9, 60, 3600, 90_000].map(durationText), ['0 s', '59 s', '1 min', '1 h 0 min', '1 d 1 h'])
})
