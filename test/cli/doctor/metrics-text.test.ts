import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MetricsText } from '../../../src/cli/client/metrics-text.ts'
import { Metrics } from '../../../src/observability/metrics.ts'
import * as fc from '../../support/property.ts'

test('metrics have the same values after they were written as text', () => {
  const values = fc.uniqueArray(
    fc.tuple(fc.string({ unit: 'binary' }), fc.double({ noNaN: true, noDefaultInfinity: true })),
    {
      selector: ([label]) => label,
    },
  )
  fc.assert(
    fc.property(values, fc.string({ unit: 'binary' }), (samples, name) => {
      const metrics = new Metrics(() => ({ display_name: name }))
      metrics.counted('by_peer', 'help', () => samples.map(([peer, value]) => ({ labels: { peer }, value })))
      metrics.gauge('single', 'help', () => ({ value: 7 }))
      const read = new MetricsText(metrics.text())
      // A negative zero is written as 0.
      assert.deepEqual(
        new Map(Object.entries(read.by('by_peer', 'peer'))),
        new Map(samples.map(([peer, value]) => [peer, value + 0])),
      )
      assert.equal(read.total('single'), 7)
      assert.equal(read.total('missing'), undefined)
    }),
    { numRuns: 50 },
  )
})

test('lines that are no samples are skipped', () => {
  const read = new MetricsText('# HELP a b\na{x="1"\na NaN\n{} 1\na 1 2 3\n\0\na{peer="__proto__"} 3\n')
  assert.deepEqual(Object.entries(read.by('a', 'peer')), [['__proto__', 3]])
})
