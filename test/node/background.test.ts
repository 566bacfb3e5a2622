import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { topicFile } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { json, startNode } from '../support/node.ts'
import { until } from '../support/process.ts'

test('failing pruning is logged, counted and a reason in /readyz until it recovers', async (t) => {
  const folder = temporaryFolder(t)
  const { node, url, log, call } = await startNode(t, folder, { retentionMs: 20 })
  await node.settings.set(['eventRouting', 'streams'], { default: { maxEvents: 10 } }, 'test')
  // The node writes at the same time.
  const other = new DatabaseSync(topicFile(folder, 'default-topic'), { timeout: 10_000 })
  t.after(() => other.close())
  other.exec("CREATE TRIGGER broken BEFORE DELETE ON tail BEGIN SELECT RAISE(FAIL, 'it broke'); END")
  const data = Array.from({ length: 1024 }, () => ({ tags: ['x'], payload: null }))
  for (let i = 0; i < 2; i++)
    await call('/api/v2/events/publish', { method: 'POST', body: JSON.stringify({ data }), headers: json })
  const reasons = async (isReady: boolean) => {
    const response = await fetch(`${url}/readyz`)
    return (response.status === 200) === isReady ? await response.text() : undefined
  }
  const why = await until(
    () => reasons(false),
    () => 'the node stays ready',
  )
  assert.match(
    why,
    /"Background".*removing events beyond the limits of their streams fails: stream 'default': .*it broke/,
  )
  assert.match(await (await fetch(`${url}/metrics`)).text(), /shoal_background_errors_total\{.*work="prune"\} [1-9]/)
  assert.ok(log.some((line) => /ERROR background: removing events beyond/.test(line)))
  other.exec('DROP TRIGGER broken')
  await until(
    () => reasons(true),
    () => 'the node does not become ready again',
  )
})

test('docs/running.md lists every metric and every readiness problem of a node', async (t) => {
  const { url } = await startNode(t)
  const page = readFileSync(new URL('../../docs/running.md', import.meta.url), 'utf8')
  const text = await (await fetch(`${url}/metrics`)).text()
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name)
  assert.ok(names.includes('shoal_background_errors_total') && names.includes('shoal_thread_ends_total'))
  for (const name of names) assert.ok(page.includes(`\`${name}\``), `docs/running.md does not have ${name}`)
  for (const problem of ['Disk', 'Clock', 'Store', 'Background', 'Threads'])
    assert.match(page, new RegExp(`^\\| \`${problem}\` +\\|`, 'm'))
})
