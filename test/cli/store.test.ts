import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import {
  blockFile,
  DataFolder,
  NodeDatabase,
  SqliteEventStore,
  slotsFile,
  topicFile,
  topicsFolder,
} from '../../src/store/index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startNode } from '../support/node.ts'
import { noise } from '../support/noise.ts'
import { ShoalProcess, shoal } from '../support/process.ts'

/** A stopped node with some events. */
async function stoppedNode(t: TestContext): Promise<string> {
  const path = join(temporaryFolder(t), 'data')
  const folder = DataFolder.open(path, { create: true })
  const database = NodeDatabase.open(folder.nodeDatabase)
  const { key } = database.beginStart(systemRandom)
  mkdirSync(topicsFolder(path))
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
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

test('verify and stats report the events of an intact store', async (t) => {
  const path = await stoppedNode(t)
  const verified = await shoal(t, ['store', 'verify', '--working-dir', path])
  assert.equal(verified.code, 0)
  assert.equal(verified.stdout, "topic 'default-topic': 3000 events in 1 streams and 2 segments: intact\n")
  const stats = JSON.parse((await shoal(t, ['store', 'stats', '--json', '--working-dir', path])).stdout) as {
    result: { events: number; tailRows: number }[]
  }
  assert.equal(stats.result[0]?.events, 3000)
  assert.match(
    (await shoal(t, ['store', 'stats', '--working-dir', path])).stdout,
    /^topic 'default-topic': 3000 events, \d+ bytes/,
  )
})

test('aql run on a stopped node returns the results of its query endpoint', async (t) => {
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
  const sum = await run('FEATURES(aggregate) FROM isLocal AGGREGATE SUM(1)', '--json')
  assert.match(sum.stdout, /^\{"type":"event",.*"payload":3000\}\n\{"type":"offsets",.*\}\n$/)
  const wrong = await run('FROM x')
  assert.deepEqual([wrong.code, wrong.stdout], [1, ''])
  assert.match(wrong.stderr, /expected array or tag_expr/)
})

test('verify reports damage and ends with exit code 1', async (t) => {
  const path = await stoppedNode(t)
  const database = new DatabaseSync(topicFile(path, 'default-topic'))
  const row = database.prepare('SELECT key, block0 AS body FROM segment ORDER BY key LIMIT 1').get()
  const body = row?.['body'] as Uint8Array
  body[body.length - 20] = (body[body.length - 20] ?? 0) ^ 1
  database.prepare('UPDATE segment SET block0 = ? WHERE key = ?').run(body, Number(row?.['key']))
  database.close()
  const { code, stdout } = await shoal(t, ['store', 'verify', '--json', '--working-dir', path])
  assert.equal(code, 1)
  const answer = JSON.parse(stdout) as { code: string; message: string }
  assert.equal(answer.code, 'ERR_INVALID_NODE_STATE')
  assert.match(answer.message, /topic 'default-topic': stream 0: a part of a segment is damaged/)
})

test('a node starts on a backup with the same identity and events', async (t) => {
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

/** A stopped node with a blob, and a named directory of a large and a small file. */
async function nodeWithFiles(t: TestContext): Promise<{ path: string; large: Buffer }> {
  const { node, upload, call } = await startNode(t, join(temporaryFolder(t), 'data'))
  const large = noise(2 * format.fileChunkBytes)
  const cid = await (await upload({ 'large.bin': large, 'small.txt': 'small' })).text()
  await call('/api/v2/files/site', { method: 'PUT', body: cid })
  const headers = { 'content-type': 'text/plain' }
  await call('/api/v2/blob/-/note', { method: 'PUT', body: 'a blob', headers })
  await node.stop('NODE_STOPPED_BY_HOST')
  return { path: node.folder, large }
}

test('verify, stats and backup include files and blobs', async (t) => {
  const { path, large } = await nodeWithFiles(t)
  const verified = await shoal(t, ['store', 'verify', '--working-dir', path])
  assert.match(verified.stdout, /\n {2}5 blocks of files: intact\n {2}1 blobs of apps: intact\n$/)
  const stats = await shoal(t, ['store', 'stats', '--working-dir', path])
  assert.match(stats.stdout, /\n {2}files: 1 uploads, 1 names, \d+ bytes \(5 blocks with \d+ bytes\)\n$/)
  const copy = join(temporaryFolder(t), 'copy')
  assert.equal((await shoal(t, ['store', 'backup', copy, '--working-dir', path])).code, 0)
  assert.equal(statSync(slotsFile(blockFile(copy, 'default-topic'))).mode & 0o077, 0)
  const { call } = await startNode(t, copy)
  const read = await call('/api/v2/files/site/large.bin')
  assert.deepEqual(Buffer.from(await read.arrayBuffer()), large)
  assert.equal(await (await call('/api/v2/blob/-/note')).text(), 'a blob')
})

test('verify reports a corrupted block and a missing block of a file', async (t) => {
  const { path } = await nodeWithFiles(t)
  const blocks = blockFile(path, 'default-topic')
  const slots = readFileSync(slotsFile(blocks))
  slots.writeUInt8(slots.readUInt8(1000) ^ 1, 1000)
  writeFileSync(slotsFile(blocks), slots)
  const database = new DatabaseSync(blocks)
  database.exec('UPDATE block SET size = NULL, slot = NULL WHERE slot = 1')
  database.close()
  const { code, stderr } = await shoal(t, ['store', 'verify', '--working-dir', path])
  assert.equal(code, 1)
  assert.match(stderr, /topic 'default-topic': the block bafy\w+: a block of a file is damaged/)
  assert.match(stderr, /topic 'default-topic': the upload bafy\w+ lacks 1 blocks/)
})

test('verify and backup work on a running node, and stats of an empty store says so', async (t) => {
  const path = join(temporaryFolder(t), 'data')
  await shoal(t, ['settings', 'local', 'init', '--working-dir', path])
  assert.equal((await shoal(t, ['store', 'stats', '--working-dir', path])).stdout, 'There are no events yet.\n')
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', path])
  await run.api()
  assert.match(
    (await shoal(t, ['store', 'verify', '--working-dir', path])).stdout,
    /^topic 'default-topic': \d+ events in 1 streams and 0 segments: intact/,
  )
  const copy = join(path, '../copy')
  const backup = await shoal(t, ['store', 'backup', copy, '--working-dir', path, '--json'])
  assert.deepEqual(JSON.parse(backup.stdout), { code: 'OK', result: { target: copy, topics: 1 } })
  assert.equal((await shoal(t, ['store', 'verify', '--working-dir', copy])).code, 0)
  const again = await shoal(t, ['store', 'backup', copy, '--working-dir', path])
  assert.match(again.stderr, /^\[ERR_INVALID_INPUT\] Error: .* exists already/)
})
