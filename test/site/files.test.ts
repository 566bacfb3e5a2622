import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { SiteNode } from '../../scripts/site/site-node.ts'
import { until } from '../support/process.ts'
import { addressOf, newSwarmKey, ownSwarm, TestSite, untilConnected } from './swarm-of.ts'

async function upload(node: SiteNode, files: Readonly<Record<string, Uint8Array<ArrayBuffer>>>): Promise<string> {
  const form = new FormData()
  for (const [name, bytes] of Object.entries(files)) form.append('file', new Blob([bytes]), name)
  const response = await node.send('POST', '/api/v2/files', form)
  assert.equal(response.status, 200)
  return await response.text()
}

/** Waits until a file can be read on a node. */
async function readable(node: SiteNode, path: string): Promise<Buffer> {
  let last = 0
  return await until(
    async () => {
      const response = await node.request('GET', `/api/v2/files/${path}`)
      last = response.status
      const bytes = Buffer.from(await response.arrayBuffer())
      return response.ok ? bytes : undefined
    },
    () => `${path} is answered with ${last}:\n${node.log}`,
  )
}

test('a file and a website that were uploaded on a node that is gone are read on a third one', async (t) => {
  const machines = new TestSite(t, 3)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey) }).start()
  const content = randomBytes(2_000_000)
  const cid = await upload(a, { 'content.bin': content })
  const page = Buffer.from('<p>hello</p>')
  const site = await upload(a, { 'index.html': page, 'other.txt': Buffer.from('text') })
  const named = await a.send('PUT', '/api/v2/files/panel', site, { 'content-type': 'text/plain' })
  assert.ok(named.ok, await named.text())
  // Everything is fetched without being asked for, so that it is here when the node of the upload is gone.
  assert.deepEqual(await readable(b, 'panel/index.html'), page)
  assert.deepEqual(await readable(b, cid), content)
  await a.stop()
  const c = await machines.node(2, { settings: ownSwarm([addressOf(b)], swarmKey) }).start()
  await untilConnected(c, 1)
  assert.deepEqual(await readable(c, cid), content)
  assert.deepEqual(await readable(c, 'panel/index.html'), page)
})
