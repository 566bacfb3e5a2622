import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Events } from '../../src/events/index.ts'
import { StreamNames } from '../../src/events/stream-names.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { EventStore } from '../../src/store/index.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { eventsIn, key, memoryStore, nodeId, silent } from '../support/api.ts'
import { packed } from '../support/events.ts'
import * as fc from '../support/property.ts'
import { limitsOf, World } from './retention/world.ts'

const topic = 'default-topic'
const context = { runtime: systemRuntime, topic, kind: 'live', now: systemRuntime.clock.now } as const

type Routes = { from: string; into: string }[]
const routes: Routes = [
  { from: "'a'", into: 'one' },
  { from: "'b'", into: 'two' },
]

const open = (store: EventStore, given = routes) =>
  Events.open(store, { ...systemRuntime, node: nodeId, routes: given, log: silent })

/** Freezes an own stream: somebody has seen two histories of it. */
async function freeze(store: EventStore, stream: number): Promise<void> {
  const witness = new MemoryEventStore({ ...context, key: KeyPair.generate(systemRandom) })
  for (const payload of ['1', '2']) {
    const branch = new MemoryEventStore({ ...context, key })
    const events = packed([{ appId: 'com.example.a', tags: [], payload }])
    await branch.append({ ...events, streams: Uint32Array.of(stream) })
    await witness.receive((await branch.chunk(0, 0)) as Uint8Array)
  }
  const evidence = await witness.evidence(0)
  assert.ok(evidence)
  assert.deepEqual(await store.applyEvidence(evidence), { state: 'applied' })
}

/** Publishes an event. Returns the number of its stream. */
async function publish(events: Events, ...tags: string[]): Promise<number> {
  const text = await events.publish('com.example.app', Buffer.from(JSON.stringify({ data: [{ tags, payload: null }] })))
  const [{ stream }] = (JSON.parse(String(text)) as { data: [{ stream: string }] }).data
  return Number(stream.slice(nodeId.length + 1))
}

interface Line {
  readonly stream: string
  readonly tags: string[]
  readonly payload: unknown
}

async function mappings(store: EventStore): Promise<{ readonly in: number; readonly payload: unknown }[]> {
  const lines = (await eventsIn(store)).map((line) => JSON.parse(line) as Line)
  return lines
    .filter(({ tags }) => tags.includes('event_routing'))
    .map(({ stream, payload }) => ({ in: Number(stream.slice(nodeId.length + 1)), payload }))
}

const before = ['default', 'one', 'two', 'discovery', 'metrics', 'files'].map((streamName, streamNr) => ({
  in: 0,
  payload: { streamName, streamNr },
}))

test('when the first stream is frozen, events without a route go to the next free number', async () => {
  const store = memoryStore()
  const events = await open(store)
  assert.equal(await publish(events), 0)
  await freeze(store, 0)
  assert.equal(await publish(events), 6)
  assert.deepEqual(await mappings(store), [
    ...before,
    { in: 6, payload: { streamName: 'default', streamNr: 6, replaces: 0 } },
  ])
  assert.deepEqual([await publish(events, 'a'), await publish(events, 'b'), await publish(events)], [1, 2, 6])
  const again = await open(store)
  assert.deepEqual([await publish(again), await publish(again, 'a')], [6, 1])
  assert.equal((await mappings(store)).length, 7)
})

test('when the stream of a route is frozen, its name gets the next free number', async () => {
  const store = memoryStore()
  const events = await open(store)
  assert.equal(await publish(events, 'a'), 1)
  await freeze(store, 1)
  assert.deepEqual([await publish(events, 'a'), await publish(events)], [6, 0])
  await freeze(store, 6)
  assert.equal(await publish(events, 'a'), 7)
  assert.deepEqual((await mappings(store)).slice(6), [
    { in: 0, payload: { streamName: 'one', streamNr: 6, replaces: 1 } },
    { in: 0, payload: { streamName: 'one', streamNr: 7, replaces: 6 } },
  ])
  assert.equal(await publish(await open(store), 'a'), 7)
})

test('all events of the frozen stream stay readable', async () => {
  const store = memoryStore()
  const events = await open(store)
  for (let i = 0; i < 3; i++) await publish(events, 'x')
  await freeze(store, 0)
  await publish(events, 'x')
  const found = (await eventsIn(store)).map((line) => JSON.parse(line) as Line).filter(({ tags }) => tags.includes('x'))
  assert.deepEqual(
    found.map(({ stream }) => stream.slice(nodeId.length + 1)),
    ['0', '0', '0', '6'],
  )
})

test('a new name is recorded although the first stream is frozen', async () => {
  const store = memoryStore()
  const events = await open(store)
  await freeze(store, 0)
  events.routes = [...routes, { from: "'c'", into: 'three' }]
  assert.equal(await publish(events, 'c'), 7)
  assert.equal(await publish(events), 6)
  assert.deepEqual((await mappings(store)).slice(6), [
    { in: 6, payload: { streamName: 'default', streamNr: 6, replaces: 0 } },
    { in: 6, payload: { streamName: 'three', streamNr: 7 } },
  ])
})

test('events that are published at the same time move on together', async () => {
  const store = memoryStore()
  const events = await open(store)
  await publish(events, 'a')
  await freeze(store, 0)
  await freeze(store, 1)
  const streams = await Promise.all(
    Array.from({ length: 20 }, (_, i) => publish(events, ...(i % 2 === 0 ? ['a'] : []))),
  )
  assert.deepEqual([...new Set(streams)].sort(), [6, 7])
  assert.equal((await mappings(store)).length, 8)
})

test('facts are copied although the stream for them is frozen', async () => {
  const world = new World()
  const events = await world.open()
  await publish(events)
  await freeze(world.store, 0)
  await publish(events)
  events.streams = limitsOf({ default: { maxEvents: 1 } })
  await publish(events)
  const facts = (await StreamNames.read(world.store)).numbers.get('node.facts')
  assert.ok(facts !== undefined)
  await freeze(world.store, facts)
  for (let i = 0; i < 1200; i++) await publish(events)
  await events.prune()
  const { numbers } = await StreamNames.read(world.store)
  assert.ok((numbers.get('node.facts') ?? 0) > facts)
  assert.deepEqual([...numbers.keys()].sort(), ['default', 'discovery', 'files', 'metrics', 'node.facts'])
  assert.equal(await publish(await world.open()), numbers.get('default'))
})

const steps = fc.array(
  fc.oneof(
    fc.record({ publish: fc.constantFrom<string[]>([], ['a'], ['b']) }),
    fc.record({ freeze: fc.nat(12) }),
    fc.constant('restart' as const),
  ),
  { maxLength: 30 },
)

test('whatever streams are frozen, every event is stored in one that is not, and names keep their numbers', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const store = memoryStore()
      let events = await open(store)
      const frozen = new Set<number>()
      const known = async () => (await store.streams()).map(({ key: { number } }) => number)
      for (const step of list)
        if (step === 'restart') {
          const { numbers } = await StreamNames.read(store)
          events = await open(store)
          assert.deepEqual((await StreamNames.read(store)).numbers, numbers)
          assert.equal(new Set(numbers.values()).size, numbers.size)
        } else if ('freeze' in step) {
          const all = await known()
          const stream = all[step.freeze % all.length] as number
          if (!frozen.has(stream)) await freeze(store, stream)
          frozen.add(stream)
        } else assert.equal(frozen.has(await publish(events, ...step.publish)), false)
    }),
    { numRuns: 30 },
  )
})
