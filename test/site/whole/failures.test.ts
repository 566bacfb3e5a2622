import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SmallDisk } from '../../disk/disks.ts'
import { killWhileCatchingUp, publishMany } from '../catching-up.ts'
import {
  addressOf,
  connectedNodes,
  eventually,
  newSwarmKey,
  offsets,
  ownSwarm,
  TestSite,
  untilConnected,
  untilLogged,
  untilReady,
  untilSame,
} from '../swarm-of.ts'

test('a node that is stopped for a while catches up', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: { ...ownSwarm([], swarmKey), '/swarm/pingTimeout': 1 } }).start()
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey) }).start()
  await untilConnected(a, 1)
  b.signal('SIGSTOP')
  await a.publish('while the other was stopped')
  await untilConnected(a, 0)
  b.signal('SIGCONT')
  await untilSame([a, b], 1)
  await untilConnected(a, 1)
})

test('a half-open connection is noticed, and a node that is there again replaces one that is not', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const settings = { '/swarm/pingTimeout': 1 }
  const a = await machines.node(0, { settings: { ...ownSwarm([], swarmKey), ...settings } }).start()
  const b = await machines.node(1, { settings: { ...ownSwarm([addressOf(a)], swarmKey), ...settings } }).start()
  await untilConnected(a, 1)
  machines.site.hideEnds(b.machine)
  await b.kill()
  assert.equal(await connectedNodes(a), 1, 'nothing tells that the other side is gone')
  await untilConnected(a, 0)
  await untilLogged(a, /disconnected from .*: nothing was heard for too long/)
  // The next half-open connection is replaced by a new one, whether its silence was noticed or not.
  await b.start()
  await untilConnected(a, 1)
  await b.kill()
  await b.start()
  const start = performance.now()
  await a.publish('after the second half-open connection')
  await untilSame([a, b], 1)
  t.diagnostic(`the same events ${Math.round(performance.now() - start)} ms after the second start`)
})

test('a node that is killed twenty times while it catches up has all events in the end', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  await publishMany(a, 400_000)
  const b = machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey) })
  await killWhileCatchingUp(b, a, { kills: 20, count: 400_000 })
})

test('an event that arrives late makes a time travel on the other node', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  await a.publish('early')
  machines.site.setLink(a.machine, false)
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey) }).start()
  for (let i = 0; i < 10; i++) await b.publish(`later ${i}`)
  const body = { session: 'site', query: `FROM 'site'`, startFrom: {} }
  const response = await b.request('POST', '/api/v2/events/subscribe_monotonic', body)
  assert.equal(response.status, 200)
  let text = ''
  const ended = (async () => {
    for await (const bytes of response.body ?? []) text += Buffer.from(bytes).toString()
  })()
  const arrived = (part: string): Promise<true> =>
    eventually(
      () => (text.includes(part) ? true : undefined),
      () => `no ${part}: ${text}`,
    )
  await arrived('later 9')
  assert.ok(!text.includes('timeTravel'))
  machines.site.setLink(a.machine, true)
  await arrived('timeTravel')
  await ended
})

test('a disk that fills while events arrive is reported, and receiving goes on when it has room again', async (t) => {
  const machines = new TestSite(t, 2)
  const disk = SmallDisk.mount(t, '24m')
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey), folder: disk.file('data') }).start()
  await untilConnected(a, 1)
  await untilReady(b)
  await publishMany(a, 10_000)
  disk.fill()
  await publishMany(a, 40_000)
  await eventually(
    async () => ((await fetch(`${b.url}/readyz`)).status === 503 ? true : undefined),
    () => 'the full disk is not reported',
  )
  await untilLogged(b, /no room left on the disk/)
  assert.ok(((await offsets(b)).present[Object.keys((await offsets(a)).present)[0] ?? ''] ?? 0) < 50_000)
  disk.remount('size=400m')
  disk.makeSpace()
  await untilSame([a, b], 50_000, 120_000)
  await untilReady(b)
})
