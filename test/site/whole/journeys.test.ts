import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Journey } from '../../support/journey.ts'
import { addressOf, eventually, newSwarmKey, ownSwarm, TestSite, untilConnected } from '../swarm-of.ts'

test('J15.3: a blocked swarm port is seen, and the nodes connect again when it is not', async (t) => {
  const machines = new TestSite(t, 2)
  const journey = new Journey(t)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  machines.site.dropInbound(a.machine, 4001)
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey) }).start()
  const failures = await eventually(
    async () => {
      const { knownPeers } = await journey.result('nodes', 'inspect', b.folder)
      const failed = knownPeers.flatMap((peer: { failures: object[] }) => peer.failures)
      return failed.length > 0 ? failed : undefined
    },
    () => b.log,
    120_000,
  )
  assert.match(failures[0].display, /time/i, JSON.stringify(failures))
  assert.match(await journey.text('nodes', 'inspect', b.folder), /Failures:/)
  machines.site.removeFilters()
  for (const node of [a, b]) await untilConnected(node, 1)
})

test('J7.4: an announced address reaches the other nodes', async (t) => {
  const machines = new TestSite(t, 2)
  const journey = new Journey(t)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey) }).start()
  for (const node of [a, b]) await untilConnected(node, 1)
  const announced = '/ip4/198.51.100.7/tcp/4001'
  await journey.text('settings', 'set', '/swarm/announceAddresses', JSON.stringify([announced]), b.folder)
  const { peerId, announceAddrs } = await journey.result('nodes', 'inspect', b.folder)
  assert.ok(announceAddrs.includes(announced), JSON.stringify(announceAddrs))
  await eventually(
    async () => {
      const { knownPeers } = await journey.result('nodes', 'inspect', a.folder)
      const known = knownPeers.find((peer: { peerId: string }) => peer.peerId === peerId)
      return known?.addrs.includes(announced) ? true : undefined
    },
    () => 'the announced address is not known',
  )
})
