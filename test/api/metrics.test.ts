import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from '../../src/metrics.ts'
import { manifest } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ShoalProcess } from '../support/process.ts'

test('metrics are written as monitoring systems read them', () => {
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

test('a node tells who it is, what it uses and what it was asked', async (t) => {
  const node = new ShoalProcess(t, ['run', '--random', '--working-dir', temporaryFolder(t)])
  const api = await node.api()
  const id = await (await fetch(`${api}/api/v2/node/id`)).text()
  const auth = await fetch(`${api}/api/v2/auth`, { method: 'POST', body: Buffer.from(JSON.stringify(manifest)) })
  const { token } = (await auth.json()) as { token: string }
  const body = Buffer.from(JSON.stringify({ data: [1, 2, 3].map((payload) => ({ tags: [], payload })) }))
  await fetch(`${api}/api/v2/events/publish?access_token=${token}`, { method: 'POST', body })
  await fetch(`${api}/nothing`)
  const response = await fetch(`${api}/metrics`)
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  const text = await response.text()
  assert.ok(text.includes(`shoal_node_info{node_id="${id}",display_name="Default Node"`), text)
  assert.match(text, /^shoal_events_published_total 3$/m)
  assert.match(text, /^shoal_http_requests_total\{status="200"\} 3$/m)
  assert.match(text, /^shoal_http_requests_total\{status="404"\} 1$/m)
  assert.match(text, /^process_resident_memory_bytes \d{7,}$/m)
})
