import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Listening } from '../../src/listening/listen.ts'
import { type Json, parseScope } from '../../src/settings/index.ts'
import { testRandom } from '../support/seed.ts'
import { Changes } from './settings-soak/changes.ts'
import { ready, untilEqual } from './settings-soak/checks.ts'
import { overApi, overControlSocket, Publisher, subscribe, untilSeen } from './settings-soak/load.ts'
import { Operators } from './settings-soak/operators.ts'
import { changeOf, randomChange } from './settings-soak/random-change.ts'
import { pathsOfSchema, settingValues } from './settings-soak/setting-values.ts'
import { connectedNodes, newSwarmKey, type Site } from './settings-soak/site.ts'

/** `npm run settings:soak` makes 1,000 changes. */
const changes = Number(process.env['SHOAL_SETTINGS_CHANGES'] ?? 25)
/** Changes of every run: short ones have no others that restart something. */
const certain: Readonly<Record<number, string>> = { 8: '/swarm/topic', 16: '/swarm/swarmKey' }
const topics = ['default-topic', 'other'] as const

/** The payloads that both nodes have, in all topics. */
async function storedOnBoth({ node, peer, swarmKey, peerAddress }: Site): Promise<unknown[]> {
  const stored: unknown[] = []
  const isCurrent = (topic: string) => topic === node.node.settings.document.swarm.topic
  // The current topic first: a change takes longest.
  for (const topic of [...topics].sort((a, b) => Number(isCurrent(b)) - Number(isCurrent(a)))) {
    const swarm = {
      topic,
      swarmKey,
      initialPeers: [peerAddress],
      gossipInterval: 1,
      pingTimeout: 5,
      metricsInterval: 0,
    }
    await node.node.settings.merge([], { swarm, api: { events: { readOnly: false } } }, 'test')
    await peer.node.settings.merge(['swarm'], { topic }, 'test')
    for (const one of [node, peer]) await ready(one)
    await untilEqual(node, peer)
    const [here, there] = [await node.payloads('soak'), await peer.payloads('soak')]
    assert.deepEqual([...there].sort(), [...here].sort())
    stored.push(...here)
  }
  return stored
}

test('the soak sets every path of the settings', () => {
  const values = settingValues({ swarmKeys: ['', ''], topics, peer: '', users: ['', ''] })
  assert.deepEqual(Object.keys(values).sort(), pathsOfSchema().sort())
})

test('random changes of settings under load apply as announced, subscriptions stay open, and no event is lost', async (t) => {
  const random = testRandom(t)
  const site = await connectedNodes(t)
  const { node, peer, swarmKey, peerAddress } = site
  const operators = new Operators((node.node.addresses.admin as [Listening])[0])
  const values = settingValues({
    swarmKeys: [swarmKey, newSwarmKey()],
    topics,
    peer: peerAddress,
    users: operators.users,
  })
  await operators.claim()
  const made = new Changes(t, site, operators)
  await made.begin()
  const atPeer = await subscribe(peer, 'soak')
  const onPeer = new Publisher('peer', overApi(peer))
  const publishers = [
    new Publisher('app', overApi(node), made.outages),
    new Publisher('other app', overApi(node), made.outages),
    new Publisher('control', overControlSocket(node), made.outages),
    onPeer,
  ]
  const revisions = new Map<number, Json>([[made.revision, made.stored]])
  for (let i = 0; i < changes; i++) {
    const { stored, revision } = made
    const state = { values, revision, stored, revisions }
    const path = certain[i]
    const inForce = path === undefined ? null : node.node.settings.get(parseScope(path))
    await made.make(path === undefined ? randomChange(random, state) : changeOf(random, state, path, inForce))
    revisions.set(made.revision, made.stored)
  }
  for (const publisher of publishers) await publisher.stop()
  await made.probe()
  await untilSeen([atPeer], String(onPeer.acknowledged.at(-1)))
  const acknowledged = [...made.probes, ...publishers.flatMap((publisher) => publisher.acknowledged)]
  const stored = await storedOnBoth(site)
  const found = new Set(stored)
  const lost = acknowledged.filter((payload) => !found.has(payload))
  const { counts } = made
  t.diagnostic(
    `${changes} changes: ${counts.stored} stored, ${counts.refused} refused; restarts that were said before: ` +
      `${counts.topic} of the topic, ${counts.swarmKey} of the swarm; connected after ${counts.connected}; ` +
      `${acknowledged.length} events acknowledged, ${lost.length} lost`,
  )
  assert.deepEqual(lost, [])
  assert.equal(found.size, stored.length)
})
