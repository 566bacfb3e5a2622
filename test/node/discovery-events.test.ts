import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { failure } from '../../src/base/errors.ts'
import { limits } from '../../src/base/limits.ts'
import { Events } from '../../src/events/index.ts'
import { queryJobs } from '../../src/events/query/query-jobs.ts'
import { KeyPair, nodeIdOf, peerIdOf } from '../../src/identity/index.ts'
import { DiscoveryEvents } from '../../src/node/discovery-events.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import type { Discovery } from '../../src/swarm/index.ts'
import { eventsIn, silent } from '../support/api.ts'
import { type VirtualRuntime, virtualRuntime } from '../support/virtual-runtime.ts'

const [own, other] = [new KeyPair(Buffer.alloc(32, 7)), new KeyPair(Buffer.alloc(32, 8))]
const otherName = Buffer.from(other.publicKey).toString('latin1')
const lan = '/ip4/10.0.0.1/tcp/4001'
const nat = '/ip4/203.0.113.77/tcp/4001'
const wan = '/ip4/203.0.113.9/tcp/4001'

interface TestNode {
  readonly store: MemoryEventStore
  readonly events: Events
}

async function nodeOf(key: KeyPair, { clock }: VirtualRuntime): Promise<TestNode> {
  const now = clock.now
  // The store works by itself, whether virtual time passes or not.
  const runtime = { ...systemRuntime, clock: { ...systemRuntime.clock, now } }
  const store = new MemoryEventStore({ runtime, topic: 'default-topic', kind: 'live', key, now, jobs: queryJobs })
  const events = await Events.open(store, { ...runtime, node: nodeIdOf(key.publicKey), routes: [], log: silent })
  return { store, events }
}

/** Lets pending work finish: everything is in memory. */
async function settle(): Promise<void> {
  for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
}

function start(t: TestContext, runtime: VirtualRuntime, { events }: TestNode) {
  const discovered: Discovery[] = []
  const failures: string[] = []
  const discovery = new DiscoveryEvents({
    ...runtime,
    events,
    node: own.publicKey,
    background: ({ error }) => failures.push(error ?? 'works again'),
    discovered: (found) => discovered.push(found),
  })
  const running = discovery.run()
  const stop = async (): Promise<void> => {
    discovery.close()
    await settle()
    await running
  }
  t.after(() => discovery.close())
  return { discovery, discovered, failures, stop }
}

async function published({ store }: TestNode): Promise<unknown[]> {
  const events = (await eventsIn(store)).map((line) => JSON.parse(line))
  return events.filter(({ tags }) => tags.includes('discovery')).map(({ payload }) => payload)
}

async function pass(runtime: VirtualRuntime, ms: number): Promise<void> {
  await settle()
  runtime.timers.advance(ms)
  await settle()
}

/** Gives a node all events of another one. */
async function replicate(from: TestNode, to: TestNode): Promise<void> {
  for (const { number, count } of await from.store.streams())
    for (let at = 0; at < count; ) {
      const chunk = await from.store.chunk(number, at)
      assert.ok(chunk !== undefined)
      at = (await to.store.receive(chunk)).count
    }
}

test('addresses are published once, and again when they are gone or were published long ago', async (t) => {
  const runtime = virtualRuntime()
  const node = await nodeOf(own, runtime)
  const id = peerIdOf(own.publicKey)
  const first = start(t, runtime, node)
  first.discovery.setAddresses(
    [lan, '/ip4/127.0.0.1/tcp/4001', '/ip6/::1/tcp/4001', '/ip4/169.254.0.1/tcp/1'],
    [wan],
    [nat],
  )
  await pass(runtime, limits.discoveryPauseMs)
  const all: unknown[] = [{ NewListenAddr: [id, lan] }, { NewExternalAddr: [id, wan] }, { NewObservedAddr: [id, nat] }]
  assert.deepEqual(await published(node), all)
  first.discovery.setAddresses([lan], [wan], [nat])
  await pass(runtime, limits.discoveryPauseMs)
  assert.deepEqual(await published(node), all)
  await first.stop()

  const second = start(t, runtime, node)
  second.discovery.setAddresses([lan], [])
  for (let i = 0; i < 3; i++) await pass(runtime, limits.discoveryPauseMs)
  all.push({ ExpiredExternalAddr: [id, wan] }, { ExpiredObservedAddr: [id, nat] })
  assert.deepEqual(await published(node), all)
  await pass(runtime, limits.discoverySeconds * 500 - 4 * limits.discoveryPauseMs)
  assert.deepEqual(await published(node), all)
  for (let i = 0; i < 8; i++) await pass(runtime, limits.discoveryPauseMs)
  assert.deepEqual(await published(node), [...all, { NewListenAddr: [id, lan] }])
  assert.deepEqual([...first.failures, ...second.failures], [])
})

test('addresses are published later while publishing waits, and after a failure, which is reported', async (t) => {
  const runtime = virtualRuntime()
  const node = await nodeOf(own, runtime)
  const errors = [failure('ERR_OWN_STREAMS_UNCERTAIN', { cause: 'a crash' }), new Error('broken')]
  const real = node.events.system.publish.bind(node.events.system)
  t.mock.method(node.events.system, 'publish', (tags: string[], payload: unknown) => {
    const error = errors.shift()
    return error === undefined ? real(tags, payload) : Promise.reject(error)
  })
  const { discovery, failures } = start(t, runtime, node)
  discovery.setAddresses([lan], [])
  for (let i = 0; i < 6; i++) await pass(runtime, limits.discoveryPauseMs)
  assert.deepEqual(await published(node), [{ NewListenAddr: [peerIdOf(own.publicKey), lan] }])
  assert.deepEqual(failures, ['broken', 'works again'])
})

test('addresses that change all the time are published at intervals', async (t) => {
  const runtime = virtualRuntime()
  const node = await nodeOf(own, runtime)
  const { discovery } = start(t, runtime, node)
  for (let i = 0; i < 100; i++) {
    discovery.setAddresses(i % 2 === 0 ? [] : [lan], [])
    await pass(runtime, 500)
  }
  assert.ok((await published(node)).length <= 6)
})

test('what other nodes publish of themselves is told, also what comes later, and nothing else', async (t) => {
  const runtime = virtualRuntime()
  const [node, remote] = [await nodeOf(own, runtime), await nodeOf(other, runtime)]
  const [id, ownId] = [peerIdOf(other.publicKey), peerIdOf(own.publicKey)]
  const bad: unknown[] = [
    null,
    7,
    [],
    {},
    { NewListenAddr: 5 },
    { NewListenAddr: [] },
    { NewListenAddr: [id] },
    { NewListenAddr: [id, 7] },
    { NewListenAddr: ['12D3KooW', lan] },
    { NewListenAddr: [id, 'nonsense'] },
    { NewListenAddr: [id, lan], NewExternalAddr: [id, lan] },
    { SomethingElse: [id, lan] },
    // A node publishes its own addresses only.
    { NewListenAddr: [ownId, lan] },
    { ExpiredListenAddr: [ownId, lan] },
  ]
  for (const payload of bad) await remote.events.system.publish(['discovery'], payload)
  await remote.events.system.publish(['discovery'], { NewListenAddr: [id, lan] })
  await remote.events.system.publish(['discovery'], { NewObservedAddr: [id, `${wan}/p2p/${id}`] })
  await replicate(remote, node)
  const { discovered, failures, discovery } = start(t, runtime, node)
  discovery.setAddresses([lan], [])
  await pass(runtime, limits.discoveryPauseMs)
  const expected: Discovery[] = [
    { peer: otherName, origin: 'Listen', address: lan, isNew: true },
    { peer: otherName, origin: 'Observed', address: wan, isNew: true },
  ]
  assert.deepEqual(discovered, expected)
  await remote.events.system.publish(['discovery'], { ExpiredListenAddr: [id, lan] })
  await replicate(remote, node)
  await pass(runtime, 0)
  assert.deepEqual(discovered, [...expected, { peer: otherName, origin: 'Listen', address: lan, isNew: false }])
  assert.deepEqual(failures, [])
})
