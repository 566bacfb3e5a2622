import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, connectedNodes, newSwarmKey, ownSwarm, TestSite, untilConnected, untilSame } from '../swarm-of.ts'

test('a partition of ten and ten nodes heals under load', async (t) => {
  const machines = new TestSite(t, 20)
  const swarmKey = newSwarmKey()
  const first = await machines.node(0, { settings: { ...ownSwarm([], swarmKey), '/swarm/pingTimeout': 1 } }).start()
  const settings = { ...ownSwarm([addressOf(first)], swarmKey), '/swarm/pingTimeout': 1 }
  const nodes = [first]
  for (let i = 1; i < 20; i++) nodes.push(await machines.node(i, { settings }).start())
  for (const node of nodes) await untilConnected(node, 19, 120_000)
  let published = 0
  const load = async (): Promise<void> => {
    for (const node of nodes) await node.publish({ at: published++ })
  }
  machines.site.partition(machines.site.machines.slice(0, 10))
  const deadline = performance.now() + 120_000
  for (let isSplit = false; !isSplit; ) {
    await load()
    isSplit = (await Promise.all(nodes.map(connectedNodes))).every((count) => count === 9)
    assert.ok(performance.now() < deadline, 'the partition is not noticed')
  }
  machines.site.removeFilters()
  const healed = performance.now()
  for (let isWhole = false; !isWhole; ) {
    await load()
    isWhole = (await Promise.all(nodes.map(connectedNodes))).every((count) => count === 19)
    assert.ok(performance.now() < healed + 180_000, 'the nodes do not find each other again')
  }
  const connected = performance.now()
  await untilSame(nodes, published, 60_000)
  const seconds = (ms: number): string => (ms / 1000).toFixed(1)
  t.diagnostic(
    `${published} events; all connected ${seconds(connected - healed)} s after healing, the same events ` +
      `${seconds(performance.now() - connected)} s after the last publish`,
  )
})
