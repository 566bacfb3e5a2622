import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Events, readerModule, retentionInterval } from '../../src/events/index.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { type EventStore, SqliteEventStore, verifyLog } from '../../src/store/index.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { chunksOf } from '../store/acceptance/support.ts'
import { eventsIn, key, nodeId } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'
import { SingleThreadStore } from '../support/single-thread-store.ts'
import { limitsOf, publish, World } from './retention/world.ts'

const routes = [{ from: "'logs'", into: 'logs' }]
const logs = 1

/** One step of a node between two retention runs: it publishes, and time passes. */
interface Step {
  readonly count: number
  readonly large: boolean
  readonly seconds: number
  readonly seal: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  count: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 5 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 1500 }) },
  ),
  large: fc.boolean(),
  seconds: fc.integer({ min: 0, max: 10 }).map((quarters) => quarters / 4),
  seal: fc.boolean(),
})

/** A node that has the prune record and all chunks of another one, and nothing else. */
async function receiverOf(store: EventStore, records: readonly Uint8Array[]): Promise<EventStore> {
  const other = new MemoryEventStore({
    runtime: systemRuntime,
    topic: 'default-topic',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
    now: systemRuntime.clock.now,
  })
  for (const { number, pruned } of await store.streams()) {
    const [checkpoint] = await store.checkpoints(number)
    const record = records.at(-1)
    if (pruned > 0 && record !== undefined) await other.applyPrune(record, checkpoint?.head)
    for (const chunk of await chunksOf(store, number)) assert.equal((await other.receive(chunk)).state, 'stored')
  }
  return other
}

/** Records the prune records of the only stream with limits. */
function recording(store: EventStore, records: Uint8Array[]): EventStore {
  const prune = store.prune.bind(store)
  store.prune = async (stream, count) => {
    const record = await prune(stream, count)
    records.push(record)
    return record
  }
  return store
}

async function lines(store: EventStore): Promise<string[]> {
  return (await eventsIn(store)).sort()
}

function sqliteWorld(t: TestContext): { world: World; file: string } {
  const file = join(temporaryFolder(t), 'events.db')
  const world = new World(
    (options) => new SingleThreadStore({ ...options, file, random: systemRuntime.random, runtime: systemRuntime }),
  )
  return { world, file }
}

/** Publishes, and lets the time between two retention runs pass. */
async function perform(world: World, events: Events, { count, large, seconds, seal }: Step): Promise<void> {
  if (count > 0) await publish(events, count, 'logs', large && count < 6 ? 'x'.repeat(300_000) : count)
  world.pass(seconds)
  if (count > 2) await publish(events, 1, 'logs', 'last')
  if (seal && world.store instanceof SingleThreadStore) world.store.settle()
  world.pass(2.5 - seconds)
}

async function checkRun(world: World, events: Events, maxEvents: number): Promise<void> {
  const before = (await world.events()).filter(({ stream }) => stream === logs)
  await events.prune()
  const left = (await world.events()).filter(({ stream }) => stream === logs)
  assert.ok(left.length <= maxEvents + 128, `${left.length} events, ${maxEvents} are to be kept`)
  const { wall } = world.clock
  for (const { time } of left) assert.ok(time >= wall - 20e6 + 2.5e6, `an event is ${(wall - time) / 1e6} seconds old`)
  // Nothing is removed that is within the limits.
  const end = (before.at(-1)?.offset ?? -1) + 1
  const kept = before.filter(({ offset, time }) => offset >= end - maxEvents && time >= wall - 10e6)
  assert.deepEqual(left.slice(Math.max(0, left.length - kept.length)), kept)
}

for (const kind of ['memory', 'SQLite'] as const)
  test(`${kind}: however a stream grows, at most maxEvents + 128 events are left, none twice as old as maxAge`, async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 30, size: 'max' }),
        fc.integer({ min: 1, max: 1500 }),
        async (steps, maxEvents) => {
          const { world, file } = kind === 'memory' ? { world: new World(), file: undefined } : sqliteWorld(t)
          const records: Uint8Array[] = []
          const store = recording(world.store, records)
          const streams = { logs: { maxEvents, maxAge: '10s' } }
          assert.equal(retentionInterval(limitsOf(streams)), 2500)
          const events = await world.open({ routes, streams }, store)
          for (const step of steps) {
            await perform(world, events, step)
            await checkRun(world, events, maxEvents)
          }
          assert.deepEqual(await lines(await receiverOf(store, records)), await lines(store))
          await store.close()
          if (file !== undefined) assert.deepEqual(verifyLog(file).problems, [])
        },
      ),
      { numRuns: kind === 'memory' ? 30 : 12 },
    )
  })

test('the limits hold in a store with threads, while it is written to and sealed, and after a restart', async (t) => {
  const file = join(temporaryFolder(t), 'events.db')
  const open = () =>
    SqliteEventStore.open({ file, topic: 'default-topic', kind: 'live', key, runtime: systemRuntime, readerModule })
  const streams = { logs: { maxEvents: 300 } }
  let world = new World(() => placeholder)
  let store = await open()
  for (let round = 0; round < 3; round++) {
    const events = await world.open({ routes, streams }, store)
    for (let i = 0; i < 8; i++) {
      await publish(events, [5, 1024, 130, 1][i % 4] as number, 'logs', i)
      if (i % 3 === 0) await store.settle()
      await Promise.all([events.prune(), publish(events, 3, 'default', i)])
      const left = (await eventsIn(store)).filter((line) => line.includes(`"${nodeId}-${logs}"`))
      assert.ok(left.length <= 428, `${left.length} events`)
    }
    await store.close()
    assert.deepEqual(verifyLog(file).problems, [])
    world = new World(() => placeholder)
    store = await open()
  }
  // Much later all events are too old, also those of an unfinished chunk.
  world.clock.wall = systemRuntime.clock.now() + 60e6
  const events = await world.open({ routes, streams: { logs: { maxAge: '10s' }, default: { maxAge: '10s' } } }, store)
  await events.prune()
  assert.deepEqual(
    (await eventsIn(store)).filter((line) => !line.includes('event_routing')),
    [],
  )
  await store.close()
})

/** For a world whose store is opened later. */
const placeholder = undefined as unknown as EventStore
