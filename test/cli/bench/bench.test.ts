import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { figuresText, latencyOf } from '../../../src/cli/bench/figures.ts'
import { benchNode } from '../../../src/cli/commands/bench.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { startBareNode } from '../../support/node.ts'
import { shoal } from '../../support/process.ts'

test('latencies are the median and the 99th percentile', () => {
  assert.deepEqual(latencyOf(Array.from({ length: 100 }, (_, i) => 99 - i)), { p50: 50, p99: 99 })
  assert.deepEqual(latencyOf([3]), { p50: 3, p99: 3 })
})

test('the summary has a line per measurement', () => {
  const latency = { p50: 0.5, p99: 12.34 }
  const text = figuresText({
    events: 10_000,
    publishOneMs: latency,
    publishConcurrentPerSecond: 1234.5,
    publishBatchPerSecond: 123_456,
    queryAllPerSecond: 1e6,
    querySelectiveMs: 7,
    queryLastMs: 123.4,
    liveMs: latency,
  })
  assert.deepEqual(text.split('\n'), [
    'publish one event                     0.50 ms median, 12.3 ms at most for 99 %',
    'publish single events, 32 at a time   1,235 events/s',
    'publish batches of 100                123,456 events/s',
    'query all of them                     1,000,000 events/s',
    'query one in a thousand               7.00 ms',
    'query the last ten                    123 ms',
    'publish and see it in a subscription  0.50 ms median, 12.3 ms at most for 99 %',
  ])
})

test('a node is measured with events that have a tag of their own, after a confirmation', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  await startBareNode(t, { folder })
  const options = { events: 800, isConfirmed: true, isJson: true }
  await assert.rejects(benchNode({ folder }, { ...options, events: 100 }), { message: /100 are too few/ })
  const asked = await shoal(t, ['bench', folder, '--events', '800'])
  assert.equal(asked.code, 1)
  assert.match(
    asked.stderr,
    /800 events with the tags shoal-bench and \S+ are published by .* Confirm it with --yes\.\n$/,
  )
  const query = ['events', 'query', folder, "FROM 'shoal-bench'", '--json']
  assert.equal((await shoal(t, query)).stdout, '', 'nothing was published without a confirmation')
  const { json } = await benchNode({ folder }, options)
  const { events, publishOneMs, queryAllPerSecond, tag } = json as Record<string, unknown>
  assert.equal(events, 800)
  assert.ok((publishOneMs as { p50: number }).p50 > 0 && Number(queryAllPerSecond) > 0)
  assert.match(String(tag), /^shoal-bench:[0-9a-f]{12}$/)
  const lines = (await shoal(t, query)).stdout.trimEnd().split('\n')
  assert.equal(lines.length, 800)
  assert.equal(JSON.parse(lines[0] ?? '').appId, 'com.example.shoal-cli')
})
