import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { backupStore } from '../../src/cli/commands/store-jobs.ts'
import { peerIdOf } from '../../src/identity/index.ts'
import { multiaddressText } from '../../src/listening/listen.ts'
import { temporaryFolder } from '../support/folder.ts'
import { json, startNode, type TestNode } from '../support/node.ts'
import { until } from '../support/process.ts'

function start(t: TestContext, folder = temporaryFolder(t)): Promise<TestNode> {
  return startNode(t, folder, { replicates: true })
}

/** The address of a node for `initialPeers`. */
function addressOf({ node }: TestNode): string {
  const [at] = node.addresses.swarm
  assert.ok(at)
  return `${multiaddressText(at)}/p2p/${peerIdOf(node.key.publicKey)}`
}

async function connect(from: TestNode, to: TestNode): Promise<void> {
  await from.node.settings.set(['swarm', 'initialPeers'], [addressOf(to)], 'test')
}

async function publish({ call }: TestNode, tag: string, count: number, from = 0): Promise<void> {
  const data = Array.from({ length: count }, (_, i) => ({ tags: [tag], payload: from + i }))
  const answer = await call('/api/v2/events/publish', { method: 'POST', headers: json, body: JSON.stringify({ data }) })
  assert.equal(answer.status, 200, await answer.text())
}

async function arrived(node: TestNode, tag: string, count: number): Promise<unknown[]> {
  let last: readonly unknown[] = []
  return await until(
    async () => {
      const payloads = await node.payloads(tag)
      last = payloads
      return payloads.length >= count ? payloads : undefined
    },
    () => `${last.length} of ${count} events arrived:\n${node.log.join('')}`,
  )
}

test('two nodes exchange events by initialPeers: earlier ones, new ones, in both directions', async (t) => {
  const [a, b] = [await start(t), await start(t)]
  await publish(a, 'early', 3000)
  await connect(b, a)
  assert.deepEqual(
    await arrived(b, 'early', 3000),
    Array.from({ length: 3000 }, (_, i) => i),
  )
  await publish(a, 'live', 1)
  await publish(b, 'back', 2)
  assert.deepEqual([await arrived(b, 'live', 1), await arrived(a, 'back', 2)], [[0], [0, 1]])
  for (const { url } of [a, b]) assert.equal((await fetch(`${url}/readyz`)).status, 200)
  const info = await until(
    async () => {
      const answer = (await (await b.call('/api/v2/node/info')).json()) as { connectedNodes: number }
      return answer.connectedNodes === 1 ? answer : undefined
    },
    () => 'the API does not know of the connection',
  )
  assert.equal(info.connectedNodes, 1)
  const offsets = (await (await b.call('/api/v2/events/offsets')).json()) as { toReplicate: object }
  assert.deepEqual(offsets.toReplicate, {})
})

test('a node that was restored from a backup gets its own later events back before it publishes', async (t) => {
  const folder = temporaryFolder(t)
  const before = await startNode(t, join(folder, 'data'))
  await publish(before, 'own', 2)
  await before.node.stop('NODE_STOPPED_BY_HOST')
  await backupStore({ folder: join(folder, 'data') }, join(folder, 'backup'))
  const a = await start(t)
  const b = await start(t, join(folder, 'data'))
  await connect(b, a)
  await publish(b, 'own', 2, 2)
  await arrived(a, 'own', 4)
  await b.node.stop('NODE_STOPPED_BY_HOST')
  const restored = await start(t, join(folder, 'backup'))
  assert.ok(
    restored.log.some((line) => line.includes('publishing waits')),
    restored.log.join(''),
  )
  const publishing = publish(restored, 'own', 1, 4)
  await connect(restored, a)
  await publishing
  assert.deepEqual(await restored.payloads('own'), [0, 1, 2, 3, 4])
  assert.deepEqual(await arrived(a, 'own', 5), [0, 1, 2, 3, 4])
})
