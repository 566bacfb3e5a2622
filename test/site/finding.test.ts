import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Journey } from '../support/journey.ts'
import { connectedNodes, newSwarmKey, TestSite, untilConnected, untilSame } from './swarm-of.ts'

// Real nodes on machines of their own, see scripts/site. Needs Linux, `ip`, `nft` and root.

test('nodes that multicast DNS finds', async (t) => {
  const machines = new TestSite(t, 3)
  const [a, b, stranger] = await Promise.all([
    machines.node(0).start(),
    machines.node(1).start(),
    machines.node(2, { settings: { '/swarm/swarmKey': newSwarmKey() } }).start(),
  ])
  await machines.part('two nodes without any configuration find each other and replicate', async () => {
    for (const node of [a, b]) await untilConnected(node, 1)
    await a.publish(1, 2)
    await b.publish(3)
    await untilSame([a, b], 3)
    assert.match(a.log, /public default/)
  })
  await machines.part('J5.1: commands show the connection, and the same offsets on both', async () => {
    const journey = new Journey(t)
    const { knownPeers, connections } = await journey.result('nodes', 'inspect', b.folder)
    assert.equal(connections.length, 1)
    assert.ok(knownPeers.some(({ addrs }: { addrs: string[] }) => addrs.some((at) => at.includes(a.machine.v4))))
    const offsets = await Promise.all([a, b].map(({ folder }) => journey.result('events', 'offsets', folder)))
    assert.deepEqual(offsets[0], offsets[1])
  })
  await machines.part('a node with another swarm key on the same network never connects', async () => {
    assert.equal(await connectedNodes(stranger), 0)
    await untilSame([stranger], 0)
  })
})
