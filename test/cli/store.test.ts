import assert from 'node:assert/strict'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { DataFolder, NodeDatabase, SqliteEventStore, topicFile, topicsFolder } from '../../src/store/index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ShoalProcess, shoal } from '../support/process.ts'

/** A stopped node with some events. */
async function stoppedNode(t: TestContext): Promise<string> {
  const path = join(temporaryFolder(t), 'data')
  const folder = DataFolder.open(path, { create: true })
  const database = NodeDatabase.open(folder.nodeDatabase)
  const { key } = database.beginStart()
  mkdirSync(topicsFolder(path))
  const store = await SqliteEventStore.open({
    file: topicFile(path, 'default-topic'),
    topic: 'default-topic',
    kind: 'live',
    key,
  })
  const events = Array.from({ length: 3000 }, (_, i) => ({
    appId: 'com.example.a',
    tags: [`t:${i % 10}`],
    payload: `{"i":${i}}`,
  }))
  await store.append({ ...packed(events), streams: new Uint32Array(3000) })
  await store.settle()
  await store.close()
  database.close()
  folder.close()
  return path
}

test('a sound store is verified, and its contents counted', async (t) => {
  const path = await stoppedNode(t)
  const verified = await shoal(t, ['store', 'verify', '--working-dir', path])
  assert.equal(verified.code, 0)
  assert.equal(
    verified.stdout,
    "topic 'default-topic': 3000 events in 1 streams and 2 segments: all as it was written\n",
  )
  const stats = JSON.parse((await shoal(t, ['store', 'stats', '--json', '--working-dir', path])).stdout) as {
    result: { events: number; tailRows: number }[]
  }
  assert.equal(stats.result[0]?.events, 3000)
  assert.match(
    (await shoal(t, ['store', 'stats', '--working-dir', path])).stdout,
    /^topic 'default-topic': 3000 events, \d+ bytes/,
  )
})

test('queries are answered from the data of a stopped node, as the node would', async (t) => {
  const path = await stoppedNode(t)
  const run = (query: string, ...more: string[]) => shoal(t, ['aql', 'run', query, '--working-dir', path, ...more])
  const found = await run("FROM 't:7' FILTER _.i > 2970 SELECT _.i", '--order', 'desc')
  const lines = found.stdout.split('\n').filter((line) => line !== '')
  const messages = lines.map((line) => JSON.parse(line) as { type: string; payload?: number; offsets?: object })
  assert.deepEqual(
    messages.map(({ type, payload }) => [type, payload]),
    [
      ['event', 2997],
      ['event', 2987],
      ['event', 2977],
      ['offsets', undefined],
    ],
  )
  assert.deepEqual(Object.values(messages.at(-1)?.offsets ?? {}), [2999])
  const sum = JSON.parse((await run('FEATURES(aggregate) FROM isLocal AGGREGATE SUM(1)', '--json')).stdout) as {
    result: { payload: number }[]
  }
  assert.equal(sum.result[0]?.payload, 3000)
  const wrong = await run('FROM x')
  assert.deepEqual([wrong.code, wrong.stdout], [1, ''])
  assert.match(wrong.stderr, /expected array or tag_expr/)
})

test('damage is found, named, and ends with exit code 1', async (t) => {
  const path = await stoppedNode(t)
  const database = new DatabaseSync(topicFile(path, 'default-topic'))
  const row = database.prepare('SELECT key, body FROM segment ORDER BY key LIMIT 1').get()
  const body = row?.['body'] as Uint8Array
  body[body.length - 20] = (body[body.length - 20] ?? 0) ^ 1
  database.prepare('UPDATE segment SET body = ? WHERE key = ?').run(body, Number(row?.['key']))
  database.close()
  const { code, stdout } = await shoal(t, ['store', 'verify', '--json', '--working-dir', path])
  assert.equal(code, 1)
  const answer = JSON.parse(stdout) as { code: string; message: string }
  assert.equal(answer.code, 'ERR_INVALID_NODE_STATE')
  assert.match(answer.message, /topic 'default-topic': stream 0: a block is damaged/)
})

test('a backup is a data folder that a node starts on, with the same identity and events', async (t) => {
  const path = await stoppedNode(t)
  const copy = join(temporaryFolder(t), 'copy')
  const backup = await shoal(t, ['store', 'backup', copy, '--json', '--working-dir', path])
  assert.deepEqual(JSON.parse(backup.stdout), { code: 'OK', result: { target: copy, topics: 1 } })
  assert.match((await shoal(t, ['store', 'verify', '--working-dir', copy])).stdout, /3000 events/)
  assert.equal(statSync(topicFile(copy, 'default-topic')).mode & 0o077, 0)
  const ids: string[] = []
  for (const folder of [path, copy]) {
    const run = new ShoalProcess(t, ['run', '--random', '--working-dir', folder])
    ids.push(await (await fetch(`${await run.api()}/api/v2/node/id`)).text())
    run.kill('SIGTERM')
    await run.ended
  }
  assert.equal(ids[0], ids[1])
  const again = await shoal(t, ['store', 'backup', copy, '--working-dir', path])
  assert.equal(again.code, 1)
  assert.match(again.stderr, /exists already/)
})

test('the store of a running node is left alone, and an empty one has nothing to say', async (t) => {
  const path = join(temporaryFolder(t), 'data')
  await shoal(t, ['settings', 'local', 'init', '--working-dir', path])
  assert.equal((await shoal(t, ['store', 'stats', '--working-dir', path])).stdout, 'There are no events yet.\n')
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', path])
  await run.api()
  const { code, stderr } = await shoal(t, ['store', 'verify', '--working-dir', path])
  assert.equal(code, 1)
  assert.match(stderr, /\[ERR_IO\] Error: data directory .* is locked by another shoal process/)
})
