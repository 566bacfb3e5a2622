import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Events } from '../../src/events/index.ts'
import { queryJobs } from '../../src/events/query/query-jobs.ts'
import { factOf } from '../../src/files/facts.ts'
import { Files } from '../../src/files/index.ts'
import { FileBuilder } from '../../src/files/unixfs/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { publish, type Stored, World } from '../events/retention/world.ts'
import { nodeId, silent } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'

const worldWithQueries = () => new World((options) => new MemoryEventStore({ ...options, jobs: queryJobs }))
const limited = { streams: { default: { maxAge: '10s' } } }
/** The stream without limits, if there are no others than those of the node. */
const facts = 4

function cidOf(text: string): string {
  const builder = new FileBuilder(() => {})
  builder.add(Buffer.from(text))
  return String(builder.finish().cid)
}

function filesOf(t: TestContext, events: Events, folder = temporaryFolder(t)): Files {
  const files = new Files({ ...systemRuntime, file: join(folder, 'blocks.db'), node: nodeId, events, log: silent })
  t.after(() => files.close())
  return files
}

async function namesIn(files: Files): Promise<[string, string][]> {
  return (await files.names()).map(({ name, cid }) => [name, cid])
}

const isName = ({ tags }: Stored) => tags.includes('ans')

/** Runs retention for a time, as often as with a `maxAge` of ten seconds, while an app publishes now and then. */
async function pass(world: World, events: Events, seconds: number): Promise<void> {
  for (let at = 0; at < seconds; at += 2.5) {
    await publish(events, 1, 'other', at)
    world.pass(2.5)
    await events.prune()
  }
}

test('a thousand names outlive the limits of the default stream, and each is published once', async (t) => {
  const world = worldWithQueries()
  const events = await world.open(limited)
  const files = filesOf(t, events)
  const cid = cidOf('content')
  const expected = Array.from({ length: 1000 }, (_, i) => [`name-${String(i).padStart(4, '0')}`, cid])
  for (const [name = ''] of expected) await files.bind(name, cid)
  await pass(world, events, 600)
  const stored = await world.events()
  assert.equal(stored.filter(isName).length, 1000)
  assert.ok(stored.filter(isName).every(({ stream }) => stream === facts))
  assert.equal(stored.filter(({ stream }) => stream === facts).length, 1000 + 5)
  assert.ok(stored.filter(({ stream }) => stream !== facts).length < 10)
  assert.deepEqual(await namesIn(files), expected)
  // After a restart, with a block database that has to learn the names from the events.
  const again = await world.open(limited)
  await pass(world, again, 60)
  assert.deepEqual(await namesIn(filesOf(t, again)), expected)
  assert.equal((await world.events()).filter(isName).length, 1000)
})

test('names from before there were limits are copied once, and keep their place in the total order', async (t) => {
  const world = worldWithQueries()
  const events = await world.open()
  const files = filesOf(t, events)
  const [old, newer] = [cidOf('old'), cidOf('new')]
  for (const name of ['kept', 'removed', 'bound-again', 'removed-later']) await files.bind(name, old)
  await files.bind('bound-again', newer)
  await files.unbind('removed')
  assert.ok((await world.events()).filter(isName).every(({ stream }) => stream === 0))
  const later = await world.open(limited)
  const laterFiles = filesOf(t, later)
  // Published to the stream without limits, before the old binding is copied there.
  await laterFiles.unbind('removed-later')
  await pass(world, later, 60)
  const expected = [
    ['bound-again', newer],
    ['kept', old],
  ]
  const copied = (await world.events()).filter(isName)
  assert.ok(copied.every(({ stream }) => stream === facts))
  assert.deepEqual(
    copied.map(({ payload }) => factOf({ payload, timestamp: 0 })).map((fact) => fact?.kind === 'name' && fact.name),
    ['removed-later', 'kept', 'bound-again', 'removed'],
  )
  assert.deepEqual(await namesIn(laterFiles), expected)
  const last = await world.open(limited)
  await pass(world, last, 60)
  assert.deepEqual(await namesIn(filesOf(t, last)), expected)
  assert.deepEqual((await world.events()).filter(isName), copied)
})
