import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { nodeHealth } from '../../src/cli/commands/nodes.ts'
import { acceptRestored } from '../../src/cli/commands/store.ts'
import { backupStore } from '../../src/cli/commands/store-jobs.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { socketText } from '../../src/listening/listen.ts'
import { temporaryFolder } from '../support/folder.ts'
import { json, startNode, type TestNode } from '../support/node.ts'

const anna = new KeyPair(Buffer.alloc(32, 2))

const publish = ({ call }: TestNode) =>
  call('/api/v2/events/publish', {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ data: [{ tags: ['t'], payload: 1 }] }),
  })

/** The data folder of a node that was restored from a backup. */
async function restoredFolder(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t)
  const node = await startNode(t, join(folder, 'data'))
  assert.equal((await publish(node)).status, 200)
  await node.node.stop('NODE_STOPPED_BY_HOST')
  await backupStore({ folder: join(folder, 'data') }, join(folder, 'backup'))
  return join(folder, 'backup')
}

test('a node without replication publishes from a restored backup at once', async (t) => {
  const node = await startNode(t, await restoredFolder(t))
  assert.equal((await publish(node)).status, 200)
  assert.equal((await fetch(`${node.url}/readyz`)).status, 200)
})

test('a node with replication waits after a backup was restored, until the operator accepts it', async (t) => {
  const folder = await restoredFolder(t)
  const node = await startNode(t, folder, { replicates: true })
  assert.deepEqual(await node.payloads('t'), [1])
  const [at] = node.node.addresses.admin
  assert.ok(at)
  const named = { folder: '', node: socketText(at), identity: anna.toPrivateText() }
  const waiting = await nodeHealth(named)
  assert.equal(waiting.failed, true)
  assert.match(String(await waiting.text()), /is running, not ready\n {2}OwnStreams failed: a backup was restored/)
  assert.equal(waiting.note, `Next: shoal doctor ${socketText(at)}`)
  const publishing = publish(node)
  const ready = await fetch(`${node.url}/readyz`)
  assert.equal(ready.status, 503)
  assert.match(await ready.text(), /OwnStreams.*a backup was restored.*accept-restored/)
  assert.ok(node.log.some((line) => line.includes('WARN') && line.includes('publishing waits')))
  assert.deepEqual((await acceptRestored(named)).json, { accepted: 1 })
  assert.equal((await publishing).status, 200)
  assert.equal((await fetch(`${node.url}/readyz`)).status, 200)
  assert.equal((await nodeHealth(named)).failed, false)
  assert.deepEqual((await acceptRestored({ folder })).json, { accepted: 0 })
  assert.deepEqual(await node.payloads('t'), [1, 1])
})

test('a backup that was accepted before the start is not waited for', async (t) => {
  const folder = await restoredFolder(t)
  await acceptRestored({ folder })
  const node = await startNode(t, folder, { replicates: true })
  assert.equal((await publish(node)).status, 200)
})

test('a folder without a node has nothing to accept', async (t) => {
  await assert.rejects(acceptRestored({ folder: temporaryFolder(t) }), { code: 'ERR_INVALID_INPUT' })
})
