import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Journey, untilConnected, untilPayloads } from '../support/journey.ts'
import { RunningNode, testSwarm } from '../support/running-node.ts'

// Step 1, by multicast DNS, needs a network: test/site/finding.test.ts.
test('J5: two nodes in one swarm', async (t) => {
  const journey = new Journey(t)
  await journey.run(['users', 'keygen'], '\n')
  const start = (name: string) => RunningNode.start(t, join(journey.folder, name), { swarm: testSwarm })
  const [a, b] = await Promise.all([start('a'), start('b')])
  const publish = (payload: string) => journey.text('events', 'publish', a.admin, payload, '-t', 'j5')
  await publish('1')

  const { peerId, swarmAddrs } = await journey.result('nodes', 'inspect', a.admin)
  assert.deepEqual([peerId, `${swarmAddrs[0]}/p2p/${peerId}`], [a.addresses.peerId, a.peerAddress])
  const set = await journey.result('settings', 'set', '/swarm/initialPeers', JSON.stringify([a.peerAddress]), b.admin)
  assert.deepEqual(set.settings, [a.peerAddress])
  for (const node of [a, b]) await untilConnected(node, 1)
  assert.deepEqual(await untilPayloads(b, 'j5', 1), [1])

  const inspected = await journey.result('nodes', 'inspect', b.admin)
  assert.deepEqual(
    inspected.connections.map((connection: { peerId: string; outbound: boolean }) => [
      connection.peerId,
      connection.outbound,
    ]),
    [[peerId, true]],
  )
  const [known] = inspected.knownPeers
  // A configured address that was dialled.
  assert.deepEqual([known.addrs, known.addrSource], [[a.peerAddress.replace(/\/p2p\/.*/, '')], ['Dial']])
  const human = await journey.text('nodes', 'inspect', b.admin)
  for (const title of [
    'PeerId:',
    'NodeId:',
    'SwarmAddrs:',
    'AnnounceAddrs:',
    'AdminAddrs:',
    'Connections:',
    'KnownPeers:',
  ])
    assert.ok(human.includes(title), human)

  await publish('2')
  assert.deepEqual(await untilPayloads(b, 'j5', 2), [1, 2])
  await journey.text('events', 'publish', b.admin, '3', '-t', 'j5')
  assert.deepEqual(await untilPayloads(a, 'j5', 3), [1, 2, 3])
  const [atA, atB] = await Promise.all([a, b].map(({ admin }) => journey.result('events', 'offsets', admin)))
  assert.deepEqual([atA.toReplicate, atB], [{}, atA])
  assert.match(await journey.text('events', 'offsets', b.admin), /│ STREAM ID +│ OFFSET +│ TO REPLICATE +│/)

  assert.equal((await b.stop()).code, 0)
  await publish('4')
  const again = await RunningNode.start(t, b.folder, { swarm: 'as stored' })
  assert.deepEqual(await untilPayloads(again, 'j5', 4), [1, 2, 3, 4])
})
