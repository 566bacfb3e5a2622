import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { control } from '../support/control.ts'
import { assertBelow } from '../support/duration.ts'
import { Journey, untilConnected, untilPayloads } from '../support/journey.ts'
import { ShoalProcess, until } from '../support/process.ts'
import { RunningNode, testSwarm } from '../support/running-node.ts'

/** Waits until the only address that a node knows of others has a source. */
async function untilSource({ folder, process }: RunningNode, source: string): Promise<void> {
  await until(
    async () => {
      const { knownPeers } = (await control(folder, 'GET', '/node/inspect')).body
      return isDeepStrictEqual(knownPeers[0]?.addrSource, [source]) ? true : undefined
    },
    () => process.stderr,
  )
}

/** What one node publishes is soon shown by a command that follows the other one. */
async function checkLatency(t: TestContext, journey: Journey, from: RunningNode, to: RunningNode): Promise<void> {
  const follow = new ShoalProcess(t, ['events', 'subscribe', to.admin, "FROM 'latency'", '--json'], {
    env: journey.env,
  })
  let number = 0
  const attempt = async (): Promise<number> => {
    const payload = `sent ${number++}`
    const body = JSON.stringify({ data: [{ tags: ['latency'], payload }] })
    const begun = performance.now()
    await control(from.folder, 'POST', '/events/publish', { body })
    await until(
      () => (follow.stdout.includes(payload) ? true : undefined),
      () => follow.stderr,
      () => follow.child.exitCode !== null,
    )
    return performance.now() - begun
  }
  // The first one waits for the command to start.
  await attempt()
  const took = [...(await assertBelow(1000, attempt)), await attempt(), await attempt()]
  t.diagnostic(`visible on the other node after ${took.map(Math.round).join(', ')} ms`)
  follow.kill('SIGINT')
}

// Step 1, by multicast DNS, needs a network: test/site/finding.test.ts.
test('J5: two nodes in one swarm', async (t) => {
  const journey = new Journey(t)
  await journey.run(['users', 'keygen'], '\n')
  const start = (name: string) => RunningNode.start(t, join(journey.folder, name), { swarm: testSwarm })
  const [first, b] = await Promise.all([start('a'), start('b')])
  const { peerId, swarmAddrs } = await journey.result('nodes', 'inspect', first.admin)
  assert.deepEqual([peerId, `${swarmAddrs[0]}/p2p/${peerId}`], [first.addresses.peerId, first.peerAddress])
  await first.stop()
  const peers = JSON.stringify([first.peerAddress])
  const set = await journey.result('settings', 'set', '/swarm/initialPeers', peers, b.admin)
  assert.deepEqual(set.settings, [first.peerAddress])
  // An address that was configured, and has not been reached yet.
  await untilSource(b, 'User')
  const a = await RunningNode.start(t, first.folder, { swarm: 'as stored', swarmPort: first.swarmPort })
  const publish = (payload: string) => journey.text('events', 'publish', a.admin, payload, '-t', 'j5')
  await publish('1')
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
  // It was dialled.
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
  await checkLatency(t, journey, a, b)
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
