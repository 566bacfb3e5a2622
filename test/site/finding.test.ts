import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../support/process.ts'
import { addressOf, connectedNodes, newSwarmKey, ownSwarm, TestSite, untilConnected, untilSame } from './swarm-of.ts'

// Real nodes on machines of their own, see scripts/site. Needs Linux, `ip`, `nft` and root.

test('two nodes without any configuration find each other and replicate', async (t) => {
  const machines = new TestSite(t, 2)
  const [a, b] = [await machines.node(0).start(), await machines.node(1).start()]
  await untilConnected(a, 1)
  await untilConnected(b, 1)
  await a.publish(1, 2)
  await b.publish(3)
  await untilSame([a, b], 3)
  assert.match(a.log, /public default/)
})

test('nodes find each other by initialPeers without mDNS', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  await a.publish('before')
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey) }).start()
  await untilSame([a, b], 1)
  await b.publish('after')
  await untilSame([a, b], 2)
})

test('nodes find each other over IPv6', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a, 'v6')], swarmKey) }).start()
  await a.publish('over IPv6')
  await untilSame([a, b], 1)
})

test('a node with another swarm key never connects, and finds its own swarm meanwhile', async (t) => {
  const machines = new TestSite(t, 3)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: { '/swarm/swarmKey': swarmKey } }).start()
  const stranger = await machines.node(1, { settings: { '/swarm/swarmKey': newSwarmKey() } }).start()
  const b = await machines.node(2, { settings: { '/swarm/swarmKey': swarmKey } }).start()
  await untilConnected(b, 1)
  await a.publish('secret')
  await untilSame([a, b], 1)
  assert.equal(await connectedNodes(stranger), 0)
  await untilSame([stranger], 0)
})

test('a node that knows the address but not the swarm key is refused, and says why', async (t) => {
  const machines = new TestSite(t, 2)
  const a = await machines.node(0, { settings: ownSwarm() }).start()
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a)]) }).start()
  await until(
    () => (/connection failed to initial peer/.test(b.log) ? true : undefined),
    () => b.log,
  )
  assert.equal(await connectedNodes(a), 0)
  assert.equal(await connectedNodes(b), 0)
})

test('a common peer introduces two others', async (t) => {
  const machines = new TestSite(t, 3)
  const swarmKey = newSwarmKey()
  const common = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  const a = await machines.node(1, { settings: ownSwarm([addressOf(common)], swarmKey) }).start()
  const b = await machines.node(2, { settings: ownSwarm([addressOf(common)], swarmKey) }).start()
  for (const node of [common, a, b]) await untilConnected(node, 2)
  await common.stop()
  await a.publish('without the common peer')
  await untilSame([a, b], 1)
})

for (const [index, side] of ['the node that has the address', 'the node at the address'].entries())
  test(`a firewall that drops inbound connections at ${side}`, async (t) => {
    const machines = new TestSite(t, 2)
    const swarmKey = newSwarmKey()
    machines.site.dropInbound(machines.site.machine(1 - index), 4001)
    // Both know the address of the other, and only one of them can be reached.
    const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
    const b = await machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey) }).start()
    await a.stop()
    a.setOffline('/swarm/initialPeers', [addressOf(b)])
    await a.start()
    await untilConnected(a, 1)
    await a.publish('through the firewall')
    await untilSame([a, b], 1)
  })

test('an address that belongs to another node now is not taken for the node that was there', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  const old = addressOf(a)
  await a.stop()
  const other = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  const b = await machines.node(1, { settings: ownSwarm([old], swarmKey) }).start()
  await until(
    () => (/another node/.test(b.log) ? true : undefined),
    () => b.log,
  )
  await other.publish('of the other')
  // It is a node of the swarm, which may be connected to, but under its own name.
  await untilSame([other, b], 1)
})
