import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from '../../src/observability/metrics.ts'
import { manifest } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { Lines } from '../support/lines.ts'
import { ShoalProcess } from '../support/process.ts'
import { TestSocket } from '../support/socket.ts'

test('metrics are written in the Prometheus text format', () => {
  const metrics = new Metrics()
  const plain = metrics.counter('a_total', 'Things.')
  const byStatus = metrics.counter('b_total', 'Things by status.', 'status')
  metrics.gauge('c', 'Now.', () => ({ labels: { x: 'a "b" \\ \n' }, value: 1.5 }))
  plain.add()
  plain.add(2)
  byStatus.add(1, 200)
  byStatus.add(1, 404)
  byStatus.add(1, 200)
  assert.equal(
    metrics.text(),
    '# HELP a_total Things.\n# TYPE a_total counter\na_total 3\n' +
      '# HELP b_total Things by status.\n# TYPE b_total counter\nb_total{status="200"} 2\nb_total{status="404"} 1\n' +
      '# HELP c Now.\n# TYPE c gauge\nc{x="a \\"b\\" \\\\ \\n"} 1.5\n',
  )
})

test('a gauge without a current value has no sample', () => {
  const metrics = new Metrics()
  metrics.gauge('a', 'A value.', () => undefined)
  assert.equal(metrics.text(), '# HELP a A value.\n# TYPE a gauge\n')
})

test('a histogram counts values in cumulative buckets', () => {
  const metrics = new Metrics(() => ({ node_id: 'n' }))
  const sizes = metrics.histogram('size', 'Sizes.', [1, 2.5])
  for (const value of [0.5, 1, 2, 100]) sizes.observe(value)
  assert.equal(
    metrics.text(),
    '# HELP size Sizes.\n# TYPE size histogram\n' +
      'size_bucket{node_id="n",le="1"} 2\nsize_bucket{node_id="n",le="2.5"} 3\nsize_bucket{node_id="n",le="+Inf"} 4\n' +
      'size_sum{node_id="n"} 103.5\nsize_count{node_id="n"} 4\n',
  )
})

test('a node exposes metrics of its identity, resources and requests', async (t) => {
  const node = new ShoalProcess(t, ['run', '--random', '--working-dir', temporaryFolder(t)])
  const api = await node.api()
  const id = await (await fetch(`${api}/api/v2/node/id`)).text()
  const auth = await fetch(`${api}/api/v2/auth`, { method: 'POST', body: Buffer.from(JSON.stringify(manifest)) })
  const { token } = (await auth.json()) as { token: string }
  const body = Buffer.from(JSON.stringify({ data: [1, 2, 3].map((payload) => ({ tags: [], payload })) }))
  await fetch(`${api}/api/v2/events/publish?access_token=${token}`, { method: 'POST', body })
  const read = (endpoint: string, request: object) =>
    fetch(`${api}/api/v2/events/${endpoint}?access_token=${token}`, {
      method: 'POST',
      body: Buffer.from(JSON.stringify(request)),
    })
  await (await read('query', { query: 'FROM allEvents', order: 'asc' })).text()
  // A rejected query counts neither as a query nor as a subscription.
  await read('query', { query: 'FROM', order: 'asc' })
  const subscription = new Lines(await read('subscribe', { query: "FROM 'none'" }))
  await subscription.next()
  const socket = await TestSocket.open(t, { url: api, token })
  socket.request(1, 'nothing', null)
  await socket.take()
  await fetch(`${api}/nothing`)
  // Some counters are incremented just after the response was sent.
  const counted = [
    /requests_total\{.*status="404"\} 1\n/,
    /requests_total\{.*status="200"\} ([4-9]|\d\d)/,
    /query_duration_seconds_count\{.*\} 1\n/,
    /subscriptions\{.*\} 1\n/,
  ]
  let text = ''
  while (!counted.every((line) => line.test(text))) {
    const response = await fetch(`${api}/metrics`)
    assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
    text = await response.text()
  }
  const measured = (name: string, labels = '') => {
    const label = `{node_id="${id}",display_name="Default Node"${labels}}`
    const line = text.split('\n').find((found) => found.startsWith(name + label))
    assert.ok(line, `${name}${label} is in ${text}`)
    return Number(line.slice(name.length + label.length))
  }
  assert.equal(measured('shoal_events_published_total'), 3)
  assert.ok(measured('shoal_http_requests_total', ',status="200"') >= 4)
  assert.equal(measured('shoal_http_requests_total', ',status="404"'), 1)
  assert.equal(measured('shoal_query_duration_seconds_count'), 1)
  assert.equal(measured('shoal_subscriptions'), 1)
  assert.equal(measured('shoal_queries'), 0)
  assert.ok(measured('shoal_commit_requests_sum') >= 1)
  assert.equal(measured('shoal_socket_errors_total', ',kind="unknownEndpoint"'), 1)
  assert.equal(measured('shoal_log_lines_total', ',level="ERROR"'), 0)
  assert.ok(measured('shoal_log_lines_total', ',level="WARN"') >= 1, 'the swarm key is the public one')
  assert.deepEqual([measured('peers_connected'), measured('peers_discovered')], [0, 0])
  assert.ok(measured('block_store_size') > 0)
  assert.ok(measured('process_cpu_seconds_total') > 0)
  assert.ok(measured('process_resident_memory_bytes') > 1e6)
})
