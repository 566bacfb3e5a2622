import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import {
  addressOf,
  connectedNodes,
  eventually,
  newSwarmKey,
  ownSwarm,
  TestSite,
  untilConnected,
  untilLogged,
  untilSame,
} from '../swarm-of.ts'

test('nodes find each other over IPv6', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a, 'v6')], swarmKey) }).start()
  await a.publish('over IPv6')
  await untilSame([a, b], 1)
})

test('machines that have IPv6 only find each other by multicast DNS', async (t) => {
  const machines = new TestSite(t, 2)
  for (const machine of machines.site.machines) machines.site.removeV4(machine)
  const settings = { '/swarm/swarmKey': newSwarmKey() }
  const nodes = machines.site.machines.map((machine) => machines.node(machine, { settings, address: machine.v6 }))
  for (const node of nodes) await node.start()
  for (const node of nodes) await untilConnected(node, 1)
  await nodes[0]?.publish('over IPv6 only')
  await untilSame(nodes, 1)
})

test('a node with two interfaces finds nodes on both networks, and passes events on between them', async (t) => {
  const machines = new TestSite(t, 3)
  const [between, left, right] = [0, 1, 2].map((index) => machines.site.machine(index)) as [M, M, M]
  const second = machines.site.addNetwork([between, right])
  machines.site.setLink(right, false)
  const settings = { '/swarm/swarmKey': newSwarmKey() }
  const b = await machines.node(left, { settings }).start()
  const c = await machines.node(right, { settings, address: second.get(right) ?? '' }).start()
  const a = await machines.node(between, { settings }).start()
  await untilConnected(a, 2)
  await b.publish('from the one network')
  await c.publish('from the other')
  await untilSame([a, b, c], 2)
  for (const node of [b, c]) assert.equal(await connectedNodes(node), 1)
})

type M = ReturnType<TestSite['site']['machine']>

test('a node that knows the address but not the swarm key is refused, and says why', async (t) => {
  const machines = new TestSite(t, 2)
  const a = await machines.node(0, { settings: ownSwarm() }).start()
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a)]) }).start()
  await untilLogged(b, /connection failed to initial peer/)
  assert.equal(await connectedNodes(a), 0)
  assert.equal(await connectedNodes(b), 0)
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
  await untilLogged(b, /another node/)
  await other.publish('of the other')
  // It is a node of the swarm, which may be connected to, but under its own name.
  await untilSame([other, b], 1)
})

test('with default options only the swarm port is open to other machines', async (t) => {
  const machines = new TestSite(t, 1)
  const { machine } = await machines.node(0, { isApiPrivate: true }).start()
  const attempt = async (host: string, port: number): Promise<string> => {
    const socket = connect({ host, port })
    try {
      await once(socket, 'connect')
      return 'open'
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error)
    } finally {
      socket.destroy()
    }
  }
  for (const host of [machine.v4, machine.v6]) {
    await eventually(
      async () => ((await attempt(host, 4001)) === 'open' ? true : undefined),
      () => `the swarm port of ${host} is closed`,
    )
    for (const port of [4454, 4458]) assert.equal(await attempt(host, port), 'ECONNREFUSED', `${host} ${port}`)
  }
})
