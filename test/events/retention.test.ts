import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventStore } from '../../src/store/index.ts'
import { nodeId } from '../support/api.ts'
import { limitsOf, publish, type Stored, World } from './retention/world.ts'

const routes = [
  { from: "'logs'", into: 'logs' },
  { from: "'more'", into: 'more' },
]
const [logs, more] = [1, 2]

test('without limits nothing is pruned', async () => {
  const world = new World()
  const events = await world.open({ routes, streams: { logs: { maxEvents: 0, maxSize: '0', maxAge: null } } })
  await publish(events, 2048, 'logs')
  world.pass(1e9)
  await events.prune()
  assert.equal(await world.firstOf(logs), 0)
})

test('frames beyond maxEvents are pruned when they have 128 events, and offsets do not change', async () => {
  const world = new World()
  const events = await world.open({ routes, streams: { logs: { maxEvents: 1025 } } })
  for (let i = 0; i < 3; i++) await publish(events, 1024, 'logs')
  await events.prune()
  // The last frame before 3072 - 1025 ends at 1920.
  assert.equal(await world.firstOf(logs), 1920)
  await publish(events, 1, 'logs')
  await events.prune()
  assert.equal(await world.firstOf(logs), 2048)
  const { present } = await events.offsets()
  assert.ok(Object.values(present).includes(3072))
})

test('streams without limits keep their events', async () => {
  const world = new World()
  const events = await world.open({ routes, streams: { logs: { maxEvents: 1 } } })
  for (const tag of ['logs', 'more', 'none']) await publish(events, 2048, tag)
  await events.prune()
  const first = await Promise.all([0, logs, more].map((stream) => world.firstOf(stream)))
  assert.deepEqual(first, [0, 1920, 0])
})

test('a restarted node applies the limits of its settings', async () => {
  const world = new World()
  await publish(await world.open({ routes }), 2048, 'logs')
  await (await world.open({ routes, streams: { logs: { maxEvents: 1024 } } })).prune()
  assert.equal(await world.firstOf(logs), 1024)
})

test('changed limits take effect at runtime', async () => {
  const world = new World()
  const events = await world.open({ routes })
  await publish(events, 2048, 'logs')
  events.streams = limitsOf({ logs: { maxEvents: 1024 } })
  await events.prune()
  assert.equal(await world.firstOf(logs), 1024)
  events.streams = {}
  await publish(events, 1024, 'logs')
  await events.prune()
  assert.equal(await world.firstOf(logs), 1024)
})

test('discovery and metrics keep their newest 1000 events, also after a restart, unless the settings override it', async () => {
  for (const [tag, stream] of [
    ['discovery', 1],
    ['metrics', 2],
  ] as const) {
    const world = new World()
    const events = await world.open()
    for (let i = 0; i < 2025; i++) await events.system.publish([tag], i)
    await (await world.open({ streams: { [tag]: { maxAge: '10w' } } })).prune()
    assert.equal(await world.firstOf(stream), 0)
    await (await world.open()).prune()
    assert.equal(await world.firstOf(stream), 1024)
  }
})

const isMapping = ({ tags }: Stored) => tags.includes('event_routing')

/** The number of the stream without limits, if it is the last one of the node. */
const facts = 6

test('names of streams are stored once, in the stream without limits if the default stream has limits', async () => {
  const world = new World()
  const streams = { default: { maxEvents: 1 } }
  const events = await world.open({ routes, streams })
  const names = async () => (await world.events()).filter(isMapping)
  const before = await names()
  assert.deepEqual(
    before.map(({ stream, payload }) => [stream, payload]),
    ['default', 'logs', 'more', 'discovery', 'metrics', 'files', 'node.facts'].map((streamName, streamNr) => [
      facts,
      { streamName, streamNr },
    ]),
  )
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 2; i++) await publish(events, 1024, 'none')
    await events.prune()
    assert.deepEqual(await names(), before)
  }
  const again = await world.open({ routes: [...routes, { from: "'new'", into: 'new' }], streams })
  await publish(again, 1, 'more')
  await publish(again, 1, 'new')
  assert.deepEqual(
    (await world.events()).slice(-3).map(({ stream }) => stream),
    [facts, more, 7],
  )
})

test('names of streams from before there were limits are copied once, before their events are pruned', async () => {
  const world = new World()
  const streams = { default: { maxEvents: 1 } }
  await publish(await world.open({ routes }), 1024, 'none')
  const copyOf = (lamport: number) => ({ lamport, stream: `${nodeId}-0` })
  const copies = (await world.events())
    .filter(isMapping)
    .map(({ payload }, i) => ({ ...(payload as object), copyOf: copyOf(i) }))
  for (let start = 0; start < 3; start++) {
    const events = await world.open({ routes, streams })
    await publish(events, 1024, 'none')
    await events.prune()
    const mappings = (await world.events()).filter(isMapping)
    assert.ok(mappings.every(({ stream }) => stream === facts))
    assert.deepEqual(mappings.map(({ payload }) => payload).slice(1), copies)
    assert.deepEqual(mappings[0]?.payload, { streamName: 'node.facts', streamNr: facts })
  }
})

test('nothing is pruned before the facts in it are copied', async () => {
  const world = new World()
  const store = refusing(world.store, 'append')
  const events = await world.open({ routes }, store)
  await publish(events, 2048, 'none')
  for (let i = 0; i < 2; i++) await publish(events, 1024, 'logs')
  events.streams = limitsOf({ default: { maxEvents: 1 }, logs: { maxEvents: 1 } })
  store.refuses = true
  await assert.rejects(events.prune(), { message: "stream 'default': refused" })
  assert.equal(await world.firstOf(0), 0)
  // Other streams are pruned all the same.
  assert.equal(await world.firstOf(logs), 1920)
  store.refuses = false
  await events.prune()
  assert.ok((await world.events()).filter(isMapping).every(({ stream }) => stream === facts))
})

test('after the clock was set, ages are counted without the change', async () => {
  for (const jump of [3601, -36_000]) {
    const world = new World()
    const events = await world.open({ routes, streams: { logs: { maxAge: '30m' }, more: { maxEvents: 1 } } })
    // Of events up to half of maxAge after the first start it is not known whether they are older.
    world.pass(901)
    await publish(events, 1024, 'logs')
    await publish(events, 2048, 'more')
    world.pass(1000)
    world.clock.wall += jump * 1e6
    await events.prune()
    assert.deepEqual([await world.firstOf(logs), await world.firstOf(more)], [0, 1920])
    assert.ok(world.log.some((line) => line.includes(`WARN events: the clock was set by ${jump} seconds`)))
    world.pass(799)
    await events.prune()
    assert.equal(await world.firstOf(logs), 0)
    // Ages differ by less than half of maxAge.
    world.pass(902)
    await events.prune()
    assert.equal(await world.firstOf(logs), undefined)
  }
})

test('a clock change of less than an hour is accepted without a warning, and elapsed time is not a clock change', async () => {
  const world = new World()
  const events = await world.open({ routes, streams: { logs: { maxAge: '24h' } } })
  await publish(events, 1024, 'logs')
  world.pass(30 * 24 * 3600)
  world.clock.wall += 3599e6
  await events.prune()
  assert.equal(await world.firstOf(logs), undefined)
  assert.ok(!world.log.some((line) => line.includes('WARN')))
})

test('a clock change of an hour, or of half of a maxAge, removes nothing', async () => {
  for (const [maxAge, seconds] of [
    ['30m', 3600],
    ['10s', 60],
    ['24h', 3600],
  ] as const) {
    const world = new World()
    const events = await world.open({ routes, streams: { logs: { maxAge } } })
    await publish(events, 1, 'logs')
    await events.prune()
    world.clock.wall += seconds * 1e6
    await events.prune()
    assert.equal(await world.firstOf(logs), 0, maxAge)
    assert.ok(world.log.some((line) => line.includes('WARN events: the clock was set by')))
  }
})

test('after a start with a clock behind the newest event, maxAge applies after half an hour, with a warning', async () => {
  const world = new World()
  const streams = { logs: { maxAge: '10s' } }
  await publish(await world.open({ routes, streams }), 1024, 'logs')
  world.clock.wall -= 3600e6
  const doubts: (string | undefined)[] = []
  const events = await world.open({ routes, streams, clockDoubted: (detail) => doubts.push(detail) })
  await events.prune()
  assert.equal(doubts.length, 1)
  assert.match(doubts[0] ?? '', /^the clock is 3600 seconds behind the newest event of this node/)
  assert.ok(world.log.some((line) => line.includes(`WARN events: ${doubts[0]}`)))
  world.pass(1800 + 3600)
  await events.prune()
  assert.deepEqual(doubts.slice(1), [undefined])
})

test('after a start with an old newest event, maxAge applies after half an hour, without a warning', async () => {
  const world = new World()
  const streams = { logs: { maxAge: '10s' } }
  await publish(await world.open({ routes, streams }), 1024, 'logs')
  world.pass(3600)
  const doubts: (string | undefined)[] = []
  const events = await world.open({ routes, streams, clockDoubted: (detail) => doubts.push(detail) })
  world.pass(1799)
  await events.prune()
  assert.equal(await world.firstOf(logs), 0)
  assert.ok(!world.log.some((line) => line.includes('WARN')))
  world.pass(1)
  await events.prune()
  assert.equal(await world.firstOf(logs), undefined)
  assert.ok(doubts.every((detail) => detail === undefined))
})

test('while the clock is an hour ahead of those of the peers, nothing is removed for its age', async () => {
  const world = new World()
  let ahead = [3600e6]
  const doubts: (string | undefined)[] = []
  const events = await world.open({
    routes,
    streams: { logs: { maxAge: '10s' }, more: { maxEvents: 1 } },
    aheadOfPeers: () => ahead,
    clockDoubted: (detail) => doubts.push(detail),
  })
  await publish(events, 1024, 'logs')
  await publish(events, 1024, 'more')
  world.pass(3600)
  for (let i = 0; i < 3; i++) await events.prune()
  assert.deepEqual([await world.firstOf(logs), await world.firstOf(more)], [0, 896])
  assert.equal(doubts.length, 1)
  ahead = [0]
  await events.prune()
  assert.equal(await world.firstOf(logs), undefined)
  assert.deepEqual(doubts.slice(1), [undefined])
})

test('an event from when the clock was ahead does not retain those that were published after it', async () => {
  const world = new World()
  const events = await world.open({ routes, streams: { logs: { maxAge: '10s' } } })
  const year = 365 * 86_400e6
  world.clock.wall += year
  await publish(events, 1, 'logs')
  world.clock.wall -= year
  world.pass(3600)
  await events.prune()
  world.pass(3600)
  for (let i = 0; i < 40; i++) {
    await publish(events, 1, 'logs')
    world.pass(2.5)
    await events.prune()
  }
  const times = (await world.events()).filter(({ stream }) => stream === 1).map(({ time }) => time)
  assert.ok(times.length > 0 && times.every((time) => time > world.clock.wall - 20e6 && time <= world.clock.wall))
})

test('limits of a stream without a route cause a warning', async () => {
  const world = new World()
  const events = await world.open({ routes, streams: { logs: {}, default: {}, metrics: {}, lost: { maxEvents: 1 } } })
  const warnings = () => world.log.filter((line) => line.includes('WARN'))
  assert.equal(warnings().length, 1)
  assert.match(warnings()[0] ?? '', /\/eventRouting\/streams\/lost has no effect: no route leads into 'lost'/)
  await events.prune()
  events.routes = [{ from: "'a'", into: 'lost' }]
  events.streams = limitsOf({ lost: { maxEvents: 1 } })
  assert.equal(warnings().length, 1)
})

/** A store with a call that can be made to fail. */
function refusing(store: EventStore, call: keyof EventStore): EventStore & { refuses: boolean } {
  let refuses = false
  return new Proxy(store as EventStore & { refuses: boolean }, {
    set: (_, __, value) => {
      refuses = value === true
      return true
    },
    get: (target, name) => {
      if (name === call && refuses) return () => Promise.reject(new Error('refused'))
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}
