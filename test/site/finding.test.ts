import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  await machines.part('a node with another swarm key on the same network never connects', async () => {
    assert.equal(await connectedNodes(stranger), 0)
    await untilSame([stranger], 0)
  })
})
