import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { peerIdOf } from '../../src/identity/index.ts'
import { multiaddressText } from '../../src/listening/listen.ts'
import { temporaryFolder } from '../support/folder.ts'
import { Lines } from '../support/lines.ts'
import { json, startNode, type TestNode } from '../support/node.ts'
import { until } from '../support/process.ts'
import { testRandom } from '../support/seed.ts'

const start = (t: TestContext): Promise<TestNode> => startNode(t, temporaryFolder(t), { replicates: true })

/** The address of a node for `initialPeers`. */
function addressOf({ node }: TestNode): string {
  const [at] = node.addresses.swarm
  assert.ok(at)
  return `${multiaddressText(at)}/p2p/${peerIdOf(node.key.publicKey)}`
}

const set = ({ node }: TestNode, name: string, value: string | readonly string[]) =>
  node.settings.set(['swarm', name], typeof value === 'string' ? value : [...value], 'test')

function publish({ call }: TestNode, payload: unknown): Promise<Response> {
  const body = JSON.stringify({ data: [{ tags: ['x'], payload }] })
  return call('/api/v2/events/publish', { method: 'POST', headers: json, body })
}

/** Follows the events of a node: the cheapest way to wait for one. */
async function follow({ call }: TestNode): Promise<(payload: string) => Promise<void>> {
  const body = JSON.stringify({ query: `FROM 'x'` })
  const lines = new Lines(await call('/api/v2/events/subscribe', { method: 'POST', headers: json, body }))
  return async (payload) => {
    for (let line = ''; !line.includes(`"payload":"${payload}"`); line = await lines.nextFull())
      assert.ok(!line.includes('"code"'), line)
  }
}

const key = (text: string): string => Buffer.alloc(32, text).toString('base64')

async function changeKeys(a: TestNode, b: TestNode): Promise<void> {
  // The subscriptions stay open while the swarm is restarted.
  const [seenByA, seenByB] = [await follow(a), await follow(b)]
  await set(b, 'initialPeers', [addressOf(a)])
  await publish(a, 'before')
  await seenByB('before')
  await set(a, 'swarmKey', key('other'))
  await until(
    () => b.log.find((line) => line.includes('disconnected from')),
    () => `the nodes are still connected:\n${b.log.join('')}`,
  )
  assert.equal((await publish(a, 'apart')).status, 200)
  await set(b, 'swarmKey', key('other'))
  await Promise.all([seenByA('apart'), seenByB('apart')])
  assert.deepEqual(await b.payloads('x'), ['before', 'apart'])
}

/** Leaves processor time to the node that is tested. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 20))

/** Publishes one event after the other. Returns the payloads of those that were acknowledged. */
async function acknowledged(node: TestNode, isDone: () => boolean): Promise<number[]> {
  const payloads: number[] = []
  for (let payload = 0; !isDone(); payload++) {
    const response = await publish(node, payload)
    const text = await response.text()
    if (response.status === 200) payloads.push(payload)
    else {
      assert.equal(response.status, 503, text)
      assert.equal(response.headers.get('retry-after'), '1', text)
    }
    await pause()
  }
  return payloads
}

async function ready({ url, log }: TestNode): Promise<void> {
  await until(
    async () => {
      await pause()
      const response = await fetch(`${url}/readyz`)
      return response.status === 200 ? true : void (await response.arrayBuffer())
    },
    () => `the node is not ready:\n${log.join('')}`,
  )
}

/** SHOAL_RESTARTS=100 makes a long test of it. */
const changes = Number(process.env['SHOAL_RESTARTS'] ?? 20)

async function changeUnderLoad(t: TestContext, node: TestNode, peer: TestNode): Promise<void> {
  const random = testRandom(t)
  const first = node.node.settings.document.swarm
  const before = await node.payloads('x')
  const values = {
    topic: [first.topic, 'other'],
    swarmKey: [first.swarmKey, key('third')],
    initialPeers: [[], [addressOf(peer)]],
  } as const
  let isDone = false
  const publishing = acknowledged(node, () => isDone)
  for (let i = 0; i < changes; i++) {
    // Changes of peers are frequent, since they cost least.
    const name = random.pick(['topic', 'swarmKey', 'initialPeers', 'initialPeers'] as const)
    await set(node, name, random.pick<string | readonly string[]>(values[name]))
    // Some changes come during a restart, others after it.
    if (random.below(3) === 0) await ready(node)
  }
  await set(node, 'topic', 'other')
  await ready(node)
  isDone = true
  const payloads = await publishing
  const others = await node.payloads('x')
  await set(node, 'swarmKey', first.swarmKey)
  await set(node, 'topic', first.topic)
  await ready(node)
  const stored = await node.payloads('x')
  assert.deepEqual(stored.slice(0, before.length), before)
  const published = [...stored.slice(before.length), ...others]
  assert.deepEqual(
    published.sort((a, b) => Number(a) - Number(b)),
    payloads,
  )
  t.diagnostic(`${payloads.length} events were acknowledged, ${others.length} of them in the other topic`)
  const seenByPeer = await follow(peer)
  await publish(node, 'last')
  await seenByPeer('last')
  assert.deepEqual((await peer.payloads('x')).slice(0, -1), stored)
}

test('restarts of the swarm and of a topic in two connected nodes', async (t) => {
  const [a, b] = [await start(t), await start(t)]
  await t.test('a changed key restarts the swarm only: nodes part, and meet when both have it', () => changeKeys(a, b))
  await t.test(`${changes} changes of topic, swarm key and peers under load lose nothing acknowledged`, (step) =>
    changeUnderLoad(step, a, b),
  )
})
