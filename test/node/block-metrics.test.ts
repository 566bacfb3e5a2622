import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tuning } from '../../src/base/tuning.ts'
import { BlockMetrics } from '../../src/node/block-metrics.ts'
import { metricsPayload } from '../../src/node/metrics-event.ts'
import { Metrics } from '../../src/observability/metrics.ts'
import { virtualRuntime } from '../support/virtual-runtime.ts'

test('calls to the store of blocks are counted and measured by type, in the text and in metrics events', () => {
  const { clock } = virtualRuntime()
  const metrics = new Metrics()
  const measured = new BlockMetrics(metrics, clock)
  const [read, find] = [measured.measure('read'), measured.measure('find')]
  clock.advance(2)
  read()
  clock.advance(1000)
  find()
  measured.measure('read')()
  const lines = metrics.text().split('\n')
  assert.ok(lines.includes('block_store_queries_total{type="read"} 2'), lines.join('\n'))
  assert.ok(lines.includes('block_store_query_duration_bucket{type="read",le="0.0025"} 2'))
  assert.ok(lines.includes('block_store_query_duration_bucket{type="find",le="1"} 0'))
  assert.ok(lines.includes('block_store_query_duration_sum{type="find"} 1.002'))
  const family = metricsPayload(metrics, 7).find(([name]) => name === 'block_store_query_duration')
  assert.deepEqual(
    family?.[2].map(([kind, [labels, time, count]]) => [kind, labels, time, count]),
    [
      [4, [['type', 'read']], 7, 2],
      [4, [['type', 'find']], 7, 1],
    ],
  )
})

test('blocks are counted at most once a minute, and not before the files are open', async () => {
  const { clock } = virtualRuntime()
  const metrics = new Metrics()
  const measured = new BlockMetrics(metrics, clock)
  const shown = async (): Promise<string | undefined> => {
    const text = metrics.text()
    await new Promise(setImmediate)
    return text.split('\n').find((line) => line.startsWith('block_store_block_count'))
  }
  assert.equal(await shown(), undefined)
  let counts = 0
  measured.files = { usage: async () => ({ blocks: ++counts * 10, bytes: 1, cachedBlocks: 0, cachedBytes: 0 }) }
  assert.equal(await shown(), undefined)
  assert.equal(await shown(), 'block_store_block_count 10')
  clock.advance(tuning.blockCountMs)
  await shown()
  assert.deepEqual([await shown(), counts], ['block_store_block_count 20', 2])
})
