import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { KeyPair, publicKeyOf } from '../../src/identity/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import {
  DataFolder,
  NodeDatabase,
  replaceIdentity,
  SqliteEventStore,
  topicFile,
  verifyFolder,
} from '../../src/store/index.ts'
import { LogWriter } from '../../src/store/sqlite/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { json, startNode, type TestNode } from '../support/node.ts'

async function publish({ call }: TestNode, count: number): Promise<{ stream: string }[]> {
  const data = Array.from({ length: count }, (_, payload) => ({ tags: ['t'], payload }))
  const init = { method: 'POST', headers: json, body: JSON.stringify({ data }) }
  const answer = await call('/api/v2/events/publish', init)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { data: { stream: string }[] }).data
}

function replace(path: string) {
  const folder = DataFolder.open(path, { create: false })
  try {
    return replaceIdentity(folder, systemRuntime)
  } finally {
    folder.close()
  }
}

// The second one ends within a chunk, after a complete one.
for (const count of [3, 2500])
  test(`a node with a new key keeps ${count} events as those of another node, and publishes to streams of its own`, async (t) => {
    const path = join(temporaryFolder(t), 'data')
    const first = await startNode(t, path)
    const [old] = await publish(first, count)
    await first.node.stop('NODE_STOPPED_BY_HOST')
    const { nodeId, formerId, formerKeyFile } = replace(path)
    assert.equal(formerId, first.node.id)
    assert.equal(statSync(formerKeyFile).mode & 0o777, 0o600)
    const kept = JSON.parse(readFileSync(formerKeyFile, 'utf8')) as { nodeId: string; privateKey: string }
    assert.deepEqual([kept.nodeId, kept.privateKey], [formerId, first.node.key.toPrivateText()])
    assert.deepEqual(verifyFolder(path).problems, [])
    const second = await startNode(t, path)
    assert.equal(second.node.id, nodeId)
    assert.equal((await second.payloads('t')).length, count)
    const [added] = await publish(second, 1)
    assert.equal(old?.stream, `${formerId}-0`)
    assert.equal(added?.stream, `${nodeId}-0`)
    assert.equal((await second.payloads('t')).length, count + 1)
    await second.node.stop('NODE_STOPPED_BY_HOST')
    assert.deepEqual(verifyFolder(path).problems, [])
    assert.equal(replace(path).formerId, nodeId)
    assert.equal((await (await startNode(t, path)).payloads('t')).length, count + 1)
  })

test('streams of the former key can be verified by another node', async (t) => {
  const path = join(temporaryFolder(t), 'data')
  const first = await startNode(t, path)
  await publish(first, 3)
  await first.node.stop('NODE_STOPPED_BY_HOST')
  const { formerId } = replace(path)
  const database = NodeDatabase.open(join(path, 'node.db'))
  const { key } = database
  database.close()
  assert.ok(key)
  const open = (file: string, own: KeyPair): Promise<SqliteEventStore> =>
    SqliteEventStore.open({ runtime: systemRuntime, file, topic: 'default-topic', kind: 'live', key: own })
  const stream = { node: publicKeyOf(formerId), number: 0 }
  const node = await open(topicFile(path, 'default-topic'), key)
  const found = await node.streamOf(stream)
  assert.ok(found && !found.own)
  const chunk = await node.chunk(found.number, 0)
  await node.close()
  const other = await open(join(temporaryFolder(t), 'other.db'), KeyPair.generate(systemRuntime.random))
  t.after(() => other.close())
  assert.equal((await other.receive(chunk as Uint8Array)).state, 'stored')
  assert.equal((await other.streamOf(stream))?.count, found.count)
})

test('a change of the key that was interrupted leaves the former one in force, and can be repeated', async (t) => {
  const path = join(temporaryFolder(t), 'data')
  const first = await startNode(t, path)
  await publish(first, 3)
  await first.node.stop('NODE_STOPPED_BY_HOST')
  const { clock, random } = systemRuntime
  const [file, topic] = [topicFile(path, 'default-topic'), 'default-topic']
  const writer = new LogWriter({ file, topic, kind: 'live', key: first.node.key, now: clock.now, random })
  writer.storeOwnHeads()
  writer.close()
  const again = await startNode(t, path)
  assert.equal(again.node.id, first.node.id)
  await publish(again, 3)
  await again.node.stop('NODE_STOPPED_BY_HOST')
  assert.deepEqual(verifyFolder(path).problems, [])
  assert.equal(replace(path).formerId, first.node.id)
  assert.deepEqual(verifyFolder(path).problems, [])
  assert.equal((await (await startNode(t, path)).payloads('t')).length, 6)
})

test('a folder whose node was never started has no identity to replace', async (t) => {
  const path = join(temporaryFolder(t), 'data')
  DataFolder.open(path, { create: true }).close()
  assert.throws(() => replace(path), { code: 'ERR_INVALID_INPUT', message: /has no identity yet/ })
})
