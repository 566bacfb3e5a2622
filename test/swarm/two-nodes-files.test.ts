import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { peerIdOf } from '../../src/identity/index.ts'
import { multiaddressText } from '../../src/listening/listen.ts'
import { json, startNode, type TestNode } from '../support/node.ts'
import { noise } from '../support/noise.ts'
import { until } from '../support/process.ts'

function start(t: TestContext): Promise<TestNode> {
  return startNode(t, undefined, { replicates: true })
}

async function connect(from: TestNode, { node }: TestNode): Promise<void> {
  const [at = assert.fail()] = node.addresses.swarm
  const address = `${multiaddressText(at)}/p2p/${peerIdOf(node.key.publicKey)}`
  await from.node.settings.set(['swarm', 'initialPeers'], [address], 'test')
}

/** Waits until a file can be downloaded. */
async function downloaded(node: TestNode, path: string): Promise<Buffer> {
  let last = 0
  return await until(
    async () => {
      const answer = await node.call(`/api/v2/files/${path}`)
      last = answer.status
      const bytes = Buffer.from(await answer.arrayBuffer())
      return answer.status === 200 ? bytes : undefined
    },
    () => `the answer is ${last}:\n${node.log.join('')}`,
  )
}

test('a file that was uploaded on one node is downloaded from another, also when the first is gone', async (t) => {
  const [a, b] = [await start(t), await start(t)]
  const content = noise(5_000_000)
  const cid = await (await a.upload({ file: content })).text()
  await connect(b, a)
  assert.deepEqual(await downloaded(b, cid), content)
  const page = Buffer.from('<p>hello</p>')
  const site = await (await a.upload({ 'index.html': page, 'other.txt': 'text' })).text()
  const named = await a.call('/api/v2/files/site', {
    method: 'PUT',
    body: site,
    headers: { 'content-type': 'text/plain' },
  })
  assert.ok(named.ok, await named.text())
  assert.deepEqual(await downloaded(b, 'site/index.html'), page)
  assert.deepEqual(await downloaded(b, 'site/other.txt'), Buffer.from('text'))
  await a.node.stop('NODE_STOPPED_BY_HOST')
  assert.deepEqual(await downloaded(b, cid), content)
})

test('events arrive while a large file is on its way', async (t) => {
  const [a, b] = [await start(t), await start(t)]
  await connect(b, a)
  const content = noise(60_000_000)
  const cid = await (await a.upload({ file: content })).text()
  const download = downloaded(b, cid)
  let isDone = false
  void download.finally(() => {
    isDone = true
  })
  const delays: number[] = []
  for (let i = 0; !isDone && i < 200; i++) {
    const data = [{ tags: ['event'], payload: i }]
    await a.call('/api/v2/events/publish', { method: 'POST', headers: json, body: JSON.stringify({ data }) })
    const published = performance.now()
    await until(
      async () => (await b.payloads('event')).length > i || undefined,
      () => `event ${i} has not arrived`,
    )
    delays.push(performance.now() - published)
  }
  assert.ok((await download).equals(content))
  assert.ok(delays.length > 0)
  const sorted = delays.sort((x, y) => x - y)
  t.diagnostic(
    `${sorted.length} events, p50 ${sorted[sorted.length >> 1]?.toFixed()} ms, max ${sorted.at(-1)?.toFixed()} ms`,
  )
})
