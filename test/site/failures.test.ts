import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../support/process.ts'
import {
  addressOf,
  connectedNodes,
  newSwarmKey,
  ownSwarm,
  payloads,
  TestSite,
  untilConnected,
  untilSame,
} from './swarm-of.ts'

test('a link that goes down is noticed, and what was published meanwhile arrives when it is up again', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const settings = { '/swarm/pingTimeout': 1 }
  const a = await machines.node(0, { settings: { ...ownSwarm([], swarmKey), ...settings } }).start()
  const b = await machines.node(1, { settings: { ...ownSwarm([addressOf(a)], swarmKey), ...settings } }).start()
  await untilConnected(a, 1)
  machines.site.setLink(b.machine, false)
  await a.publish('while the link was down')
  await untilConnected(a, 0)
  machines.site.setLink(b.machine, true)
  await untilSame([a, b], 1)
})

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
  assert.equal(await connectedNodes(a), 1)
})

test('a node that is killed while it catches up has all events in the end', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  const events = Array.from({ length: 1000 }, (_, i) => ({ i, text: 'x'.repeat(200) }))
  for (let batch = 0; batch < 50; batch++) await a.publish(...events)
  const b = machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey) })
  let kills = 0
  for (; kills < Number(process.env['SITE_KILLS'] ?? 1); kills++) {
    await b.start()
    const before = (await payloads(b)).length
    await until(
      async () => ((await payloads(b)).length > before ? true : undefined),
      () => `nothing arrives:\n${b.log}`,
    )
    await b.kill()
  }
  await b.start()
  await untilSame([a, b], 50_000)
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
    until(
      () => (text.includes(part) ? true : undefined),
      () => `no ${part}: ${text}\n${b.log}`,
    )
  await arrived('later 9')
  assert.ok(!text.includes('timeTravel'))
  machines.site.setLink(a.machine, true)
  await arrived('timeTravel')
  await ended
})
