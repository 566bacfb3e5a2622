import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Events } from '../../src/events/index.ts'
import { queryJobs } from '../../src/events/query/query-jobs.ts'
import { type FactEvent, mappingOf, WinningFacts } from '../../src/facts/index.ts'
import { Files } from '../../src/files/index.ts'
import { FileBuilder } from '../../src/files/unixfs/index.ts'
import { KeyPair, nodeIdOf } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { EventStore } from '../../src/store/index.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { publish, type Stored, World } from '../events/retention/world.ts'
import { eventsIn, nodeId, silent } from '../support/api.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'

const app = 'com.example.test'
/** Both streams with facts have limits. */
const limited = { streams: { default: { maxAge: '10s' }, files: { maxAge: '10s' } } }
/** The stream without limits, if there are no others than those of the node. */
const facts = 4

const worldWithQueries = () => new World((options) => new MemoryEventStore({ ...options, jobs: queryJobs }))

function cidOf(text: string): string {
  const builder = new FileBuilder(() => {})
  builder.add(Buffer.from(text))
  return String(builder.finish().cid)
}

function filesOf(t: TestContext, events: Events, node = nodeId): Files {
  const file = join(temporaryFolder(t), 'blocks.db')
  const files = new Files({ ...systemRuntime, file, node, events, log: silent })
  t.after(() => files.close())
  return files
}

const upload = (files: Files, text: string) =>
  files.upload(app, (target) =>
    target.add(
      'file',
      (async function* () {
        yield Buffer.from(text)
      })(),
    ),
  )

/** Names and uploads without a name, as users see them. */
async function shown(files: Files): Promise<{ names: [string, string][]; uploads: string[] }> {
  return {
    names: (await files.names()).map(({ name, cid }) => [name, cid]),
    uploads: (await files.unnamedUploads()).map(({ cid }) => cid),
  }
}

/** Runs retention until everything that was published before is beyond a `maxAge` of ten seconds. */
async function outlive(world: World, events: Events): Promise<void> {
  for (let at = 0; at < 60; at += 2.5) {
    await publish(events, 1, 'other', at)
    world.pass(2.5)
    await events.prune()
  }
}

const isFact = ({ tags }: Stored) => tags.some((tag) => ['ans', 'files:created', 'files:removed'].includes(tag))

/** A node that joins now: it gets the prune records and what is left of all streams. */
async function newcomer(t: TestContext, source: EventStore): Promise<{ files: Files; store: EventStore }> {
  const own = KeyPair.generate(systemRandom)
  const options = { topic: 'default-topic', kind: 'live', key: own, jobs: queryJobs } as const
  const store = new MemoryEventStore({ ...options, runtime: systemRuntime, now: () => 1_800_000_000e6 })
  for (const { number, pruned, count } of await source.streams()) {
    const { prune } = await source.records(number)
    if (prune !== undefined) await store.applyPrune(prune.record, prune.head)
    for (let from = pruned; from < count; ) {
      const chunk = await source.chunk(number, from)
      // Nothing is served of a frozen stream.
      if (chunk === undefined) break
      const received = await store.receive(chunk)
      assert.equal(received.state, 'stored')
      from = received.count
    }
  }
  const node = nodeIdOf(own.publicKey)
  const events = await Events.open(store, { ...systemRuntime, node, routes: [], log: silent })
  return { files: filesOf(t, events, node), store }
}

async function mappingsIn(store: EventStore): Promise<[string, number][]> {
  const found = new WinningFacts()
  for (const line of await eventsIn(store)) {
    const event = JSON.parse(line) as FactEvent
    if (event.stream.startsWith(`${nodeId}-`)) found.add(event)
  }
  return found.inOrder().flatMap(({ event }): [string, number][] => {
    const mapping = mappingOf(event)
    return mapping === undefined ? [] : [[mapping.streamName, mapping.streamNr]]
  })
}

const builtIn: [string, number][] = [
  ['default', 0],
  ['discovery', 1],
  ['metrics', 2],
  ['files', 3],
]

test('a node that joins after facts were pruned learns every name, upload and stream name from their copies', async (t) => {
  const world = worldWithQueries()
  const before = filesOf(t, await world.open())
  const [kept, removed] = [await upload(before, 'kept'), await upload(before, 'removed')]
  for (const name of ['bound', 'removed', 'later']) await before.bind(name, cidOf(name))
  await before.unbind('removed')
  await before.remove(app, removed)
  assert.deepEqual(
    (await world.events()).filter(isFact).map(({ stream }) => stream),
    [3, 3, 0, 0, 0, 0, 3],
  )
  // From here on the streams have limits.
  const events = await world.open(limited)
  const files = filesOf(t, events)
  await files.bind('later', cidOf('again'))
  const direct = await upload(files, 'direct')
  const expected = {
    names: [
      ['bound', cidOf('bound')],
      ['later', cidOf('again')],
    ],
    uploads: [direct, kept],
  }
  assert.deepEqual(await shown(files), expected)
  await outlive(world, events)
  const stored = (await world.events()).filter(isFact)
  assert.ok(stored.every(({ stream }) => stream === facts))
  // Two were published there. Of the five winners in the pruned streams, 'later' has been bound again.
  assert.equal(stored.length, 2 + 4)
  assert.deepEqual(await shown(files), expected)
  const joined = await newcomer(t, world.store)
  assert.deepEqual(await shown(joined.files), expected)
  assert.deepEqual(await mappingsIn(joined.store), [...builtIn, ['node.facts', facts]])
  // Nothing is copied again, also not by a restarted node.
  const again = await world.open(limited)
  await outlive(world, again)
  assert.deepEqual((await world.events()).filter(isFact), stored)
})

test('a name that another node has bound or removed meanwhile does not come back by a copy', async (t) => {
  const world = worldWithQueries()
  const first = filesOf(t, await world.open())
  for (const name of ['bound', 'removed']) await first.bind(name, cidOf('old'))
  const other = await newcomer(t, world.store)
  await other.files.bind('bound', cidOf('new'))
  await other.files.unbind('removed')
  const events = await world.open(limited)
  await outlive(world, events)
  assert.equal((await world.events()).filter(isFact).length, 2)
  const [stream] = (await other.store.streams()).filter(({ own, key: { number } }) => own && number === 0)
  const chunk = await other.store.chunk(stream?.number ?? -1, 0)
  await world.store.receive(chunk as Uint8Array)
  const expected = { names: [['bound', cidOf('new')]], uploads: [] }
  assert.deepEqual(await shown(filesOf(t, events)), expected)
  assert.deepEqual(await shown((await newcomer(t, world.store)).files), expected)
})

test('facts of a frozen stream are copied once, so that other nodes learn those that they cannot get', async (t) => {
  const world = worldWithQueries()
  const events = await world.open()
  const files = filesOf(t, events)
  await files.bind('site', cidOf('site'))
  await files.bind('gone', cidOf('gone'))
  await files.unbind('gone')
  const expected = { names: [['site', cidOf('site')]], uploads: [] }
  await freeze(world.store)
  assert.deepEqual(await shown((await newcomer(t, world.store)).files), { names: [], uploads: [] })
  await events.prune()
  const joined = await newcomer(t, world.store)
  assert.deepEqual(await shown(joined.files), expected)
  assert.deepEqual(await mappingsIn(joined.store), [...builtIn, ['node.facts', facts]])
  const stored = await world.events()
  for (const other of [events, await world.open()]) {
    world.pass(120)
    await other.prune()
  }
  assert.deepEqual(await world.events(), stored)
})

/** Freezes the first stream of this node: its twin has signed another history of it. */
async function freeze(store: EventStore): Promise<void> {
  const twin = new World().store
  await twin.append({ ...packed([{ appId: app, tags: ['a'], payload: '1' }]), streams: Uint32Array.of(0) })
  const witness = new MemoryEventStore({
    runtime: systemRuntime,
    topic: 'default-topic',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
    now: () => 1_800_000_000e6,
  })
  for (const branch of [store, twin]) await witness.receive((await branch.chunk(0, 0)) as Uint8Array)
  const evidence = await witness.evidence(0)
  assert.deepEqual(await store.applyEvidence(evidence as Uint8Array), { state: 'applied' })
}
