import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Events, retentionInterval } from '../../src/events/index.ts'
import { Maintenance } from '../../src/node/maintenance.ts'
import { metricsPayload } from '../../src/node/metrics-event.ts'
import { Metrics } from '../../src/observability/metrics.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { Settings } from '../../src/settings/index.ts'
import { NodeDatabase } from '../../src/store/index.ts'
import { eventsIn, memoryStore, nodeId, silent } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { virtualRuntime } from '../support/virtual-runtime.ts'

/** The periodic tasks of a node, with mocked timers. */
async function begin(t: TestContext, routes: { from: string; into: string }[] = []) {
  const store = memoryStore()
  const events = await Events.open(store, { ...systemRuntime, node: nodeId, routes, log: silent })
  const database = NodeDatabase.open(`${temporaryFolder(t)}/node.db`)
  t.after(() => database.close())
  const settings = await Settings.open(database.settings, systemClock)
  const metrics = new Metrics()
  metrics.counter('a_total', 'Things.').add(3)
  const runtime = virtualRuntime()
  const prune = t.mock.method(events, 'prune')
  const maintenance = new Maintenance({
    ...runtime,
    events,
    settings,
    metrics,
    background: () => {},
  })
  const found = async () =>
    (await eventsIn(store)).map((line) => JSON.parse(line)).filter(({ tags }) => tags.includes('metrics'))
  return {
    settings,
    maintenance,
    found,
    prunes: () => prune.mock.callCount(),
    /** Advances the timers by seconds, and checks the number of metrics events. */
    async tick(seconds: number, count: number) {
      runtime.timers.advance(seconds * 1000)
      // Lets pending work finish: everything is in memory.
      for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve))
      assert.equal((await found()).length, count)
    },
  }
}

const interval = ['swarm', 'metricsInterval']

test('one metrics event is published per interval, the first one after one interval', async (t) => {
  const { tick } = await begin(t)
  await tick(1799, 0)
  await tick(1, 1)
  await tick(1799, 1)
  await tick(1, 2)
})

test('a change of the interval of metrics events takes effect at once, and 0 stops them', async (t) => {
  const { settings, tick } = await begin(t)
  await settings.set(interval, 10, 'test')
  await tick(9, 0)
  // A change of another setting does not restart the interval.
  await settings.set(['swarm', 'topic'], 'x', 'test')
  await tick(1, 1)
  await settings.set(interval, 0, 'test')
  await tick(100_000, 1)
  await settings.unset(interval, 'test')
  await tick(1800, 2)
})

test('no metrics events are published after the node has stopped', async (t) => {
  const { maintenance, settings, tick } = await begin(t)
  maintenance.stop()
  await settings.set(interval, 1, 'test')
  await tick(100, 0)
})

test("a metrics event has the node's app ID, and goes to the metrics stream unless a route matches", async (t) => {
  for (const [routes, stream] of [
    [[], 2],
    [[{ from: "'metrics'", into: 'mine' }], 1],
  ] as const) {
    const { tick, found } = await begin(t, [...routes])
    await tick(1800, 1)
    const [event] = await found()
    const [{ 2: samples }] = event.payload
    assert.deepEqual(event.payload, [['a_total', 'Things.', samples]])
    assert.deepEqual(samples, [[0, [[], samples[0][1][1], 3]]])
    assert.deepEqual([event.appId, event.tags, event.stream], ['com.actyx', ['metrics'], `${nodeId}-${stream}`])
  }
})

test('the payload of a metrics event has the type, labels and values of every metric', () => {
  const metrics = new Metrics()
  const requests = metrics.counter('requests_total', 'Requests.', 'status')
  requests.add(2, 200)
  requests.add(1, 404)
  metrics.gauge('size', 'Now.', () => ({ value: 1.5 }))
  metrics.histogram('duration', 'Long.', [1, 10]).observe(5)
  assert.deepEqual(metricsPayload(metrics, 1_700_000_000_123), [
    [
      'requests_total',
      'Requests.',
      [
        [0, [[['status', '200']], 1_700_000_000_123, 2]],
        [0, [[['status', '404']], 1_700_000_000_123, 1]],
      ],
    ],
    ['size', 'Now.', [[1, [[], 1_700_000_000_123, 1.5]]]],
    [
      'duration',
      'Long.',
      [
        [
          4,
          [
            [],
            1_700_000_000_123,
            1,
            5,
            [
              [0, 1],
              [1, 10],
            ],
          ],
        ],
      ],
    ],
  ])
})

test('the interval of retention follows the shortest maxAge, within a second and a minute', () => {
  const interval = (...ages: (string | null)[]) =>
    retentionInterval(
      Object.fromEntries(ages.map((maxAge, i) => [`s${i}`, { maxEvents: 0, maxSize: '0', maxAge }] as const)),
    )
  assert.equal(interval(), 60_000)
  assert.equal(interval(null), 60_000)
  assert.equal(interval('10s'), 2500)
  assert.equal(interval('24h', '20s', null), 5000)
  assert.equal(interval('24h'), 60_000)
})

test('retention runs at the start and at its interval, which a change of settings replaces', async (t) => {
  const { settings, prunes, tick } = await begin(t)
  const streams = ['eventRouting', 'streams']
  await tick(0, 0)
  assert.equal(prunes(), 1)
  await tick(59, 0)
  assert.equal(prunes(), 1)
  await tick(1, 0)
  assert.equal(prunes(), 2)
  await settings.set(streams, { default: { maxAge: '10s' } }, 'test')
  for (let i = 0; i < 4; i++) await tick(2.5, 0)
  assert.equal(prunes(), 6)
  await settings.unset(streams, 'test')
  await tick(59, 0)
  assert.equal(prunes(), 6)
})
