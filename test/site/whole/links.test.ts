import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { SiteNode } from '../../../scripts/site/site-node.ts'
import { testRandom } from '../../support/seed.ts'
import { longestStream, publishMany } from '../catching-up.ts'
import { SlowLink } from '../slow-link.ts'
import {
  addressOf,
  connectedNodes,
  eventually,
  newSwarmKey,
  offsets,
  ownSwarm,
  TestSite,
  untilConnected,
  untilReady,
  untilSame,
} from '../swarm-of.ts'

async function arrival(from: SiteNode, to: SiteNode, payload: string): Promise<number> {
  const start = performance.now()
  const [event] = await from.publish(payload)
  await eventually(
    async () => (((await offsets(to)).present[event?.stream ?? ''] ?? -1) >= (event?.offset ?? 0) ? true : undefined),
    () => 'the event does not arrive',
  )
  return performance.now() - start
}

test('nodes replicate over a link with 20 ms of delay and a hundredth of the segments lost', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  await untilReady(a)
  const to = { host: a.machine.v4, port: 4001 }
  const link = await SlowLink.listen(t, { to, delayMs: 20, loss: 0.01, random: testRandom(t) })
  const [, peerId] = addressOf(a).split('/p2p/')
  const address = `/ip4/10.77.0.254/tcp/${link.port}/p2p/${peerId}`
  const b = await machines.node(1, { settings: ownSwarm([address], swarmKey) }).start()
  await untilConnected(b, 1)
  const live: number[] = []
  for (let i = 0; i < 20; i++)
    live.push(await arrival(...((i % 2 === 0 ? [a, b] : [b, a]) as [SiteNode, SiteNode]), 'x'))
  const start = performance.now()
  // Random texts, because events are compressed on the way.
  await publishMany(a, 10_000, () => randomBytes(150).toString('base64'))
  await untilSame([a, b], 10_020)
  const bulkMs = performance.now() - start
  live.sort((x, y) => x - y)
  t.diagnostic(
    `live ${Math.round(live[10] ?? 0)} ms in the middle, ${Math.round(live[19] ?? 0)} ms at most; 10,000 events in ` +
      `${Math.round(bulkMs)} ms; ${link.lost} of ${link.segments} segments lost`,
  )
  assert.ok(link.lost > 0, 'segments were lost')
  assert.equal(link.connections, 1, 'the connection is never given up')
  assert.match(b.log, new RegExp(`connected to .*tcp/${link.port}`))
})

test('toReplicate and connectedNodes are true while a node catches up, loses its peer and finds it again', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  await publishMany(a, 100_000)
  const [stream, newest] = await longestStream(a)
  const count = newest + 1
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey) }).start()
  let isKnown = false
  let samples = 0
  await eventually(
    async () => {
      const { present, toReplicate } = await offsets(b)
      const [here, missing] = [(present[stream] ?? -1) + 1, toReplicate[stream]]
      assert.ok(here <= count)
      if (missing !== undefined) isKnown = true
      // Once it is known how long the stream is, nothing is forgotten on the way.
      if (isKnown) assert.equal(here + (missing ?? 0), count, `${here} are here, ${missing} are missing`)
      if (missing !== undefined && here > 0) samples++
      return here === count ? true : undefined
    },
    () => 'the node does not catch up',
  )
  t.diagnostic(`${samples} samples in the middle of it`)
  assert.ok(samples > 0, 'it was seen in the middle')
  assert.deepEqual((await offsets(b)).toReplicate, {})
  assert.equal(await connectedNodes(b), 1)
  await a.stop()
  await untilConnected(b, 0, 5000)
  assert.deepEqual((await offsets(b)).toReplicate, {})
  await a.start()
  await untilConnected(b, 1)
})
