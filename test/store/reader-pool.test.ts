import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { MemoryAccount } from '../../src/client-memory/account.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { type EventStoreOptions, type Reading, SqliteEventStore } from '../../src/store/index.ts'
import { defaultReaderCount } from '../../src/store/threads/reader/reader-pool.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/process.ts'

test('there is one reader thread on two processors, and one less than processors on more, up to four', () => {
  const most = [1, 2, 3, 4, 5, 6, 64].map((processors) => defaultReaderCount(processors).most)
  assert.deepEqual(most, [1, 1, 2, 3, 4, 4, 4])
  assert.equal(defaultReaderCount(64).atOpen, 1)
})

interface Opened {
  readonly store: SqliteEventStore
  readonly account: MemoryAccount
  /** Number of reader threads that were started. */
  started: number
  readonly ends: string[]
}

async function openStore(t: TestContext, readers: NonNullable<EventStoreOptions['readers']>): Promise<Opened> {
  const account = MemoryAccount.create(limits.clientMemory)
  const opened = { started: 0, ends: [] as string[] }
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file: join(temporaryFolder(t), 'log.db'),
    topic: 't',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
    readerModule: new URL('../support/breaking-reader-thread.ts', import.meta.url),
    readers,
    clientMemory: account.memory,
    failed: (error) => assert.fail(error),
    threads: {
      started: (thread) => {
        if (thread === 'reader') opened.started++
      },
      startFailed: (_, error) => assert.fail(error),
      ended: (thread) => opened.ends.push(thread),
    },
  })
  t.after(() => store.close())
  return Object.assign(opened, { store, account })
}

/** Less than a block of 128 events takes in the cache. */
const blockBytes = 128 * 256

async function append(store: SqliteEventStore, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, i) => ({
    appId: 'com.example.a',
    tags: ['all'],
    payload: `{"i":${i}}`,
  }))
  await store.append({ ...packed(events), streams: new Uint32Array(count) })
}

async function countEvents(store: SqliteEventStore): Promise<number> {
  let text = ''
  for await (const piece of store.read({ anyOf: [{ tags: ['all'] }], order: 'asc' })) text += piece.toString()
  return text.split('\n').length - 1
}

/** A subscription whose events are counted. */
class Counted {
  readonly #reading: Reading
  events = 0
  isCaughtUp = false
  error: unknown

  constructor(store: SqliteEventStore) {
    this.#reading = store.start('subscribe', {
      query: "FROM 'all'",
      appId: 'com.example.a',
      via: 'http',
      lowerBound: {},
    })
    this.#run().catch((error) => {
      this.error = error
    })
  }

  async #run(): Promise<void> {
    for await (const piece of this.#reading) {
      this.events += (piece.toString().match(/"type":"event"/g) ?? []).length
      this.isCaughtUp ||= /"type":"offsets"/.test(piece.toString())
    }
  }
}

async function allCaughtUp(subscriptions: readonly Counted[]): Promise<void> {
  await until(
    () => subscriptions.every(({ isCaughtUp }) => isCaughtUp) || undefined,
    () => 'a subscription does not catch up',
  )
}

test('queries on all reader threads find the events of a publish that was acknowledged', async (t) => {
  const { store, started } = await openStore(t, { atOpen: 3, most: 3 })
  assert.equal(started, 3)
  for (let i = 1; i <= 10; i++) {
    await append(store, 7)
    // At once, so that each goes to another thread.
    const counts = await Promise.all([1, 2, 3].map(() => countEvents(store)))
    assert.deepEqual(counts, [7 * i, 7 * i, 7 * i])
  }
})

test('a reader thread that ends fails only its own subscriptions, and frees only its own memory', async (t) => {
  const { store, account, ends } = await openStore(t, { atOpen: 3, most: 3 })
  await append(store, 5)
  const subscriptions = [1, 2, 3].map(() => new Counted(store))
  await allCaughtUp(subscriptions)
  // On each thread, after the memory of its subscription was charged.
  await Promise.all([1, 2, 3].map(() => countEvents(store)))
  const used = account.usedBytes
  assert.ok(used > 0)
  await assert.rejects(async () => {
    for await (const _ of store.start('end', {}));
  })
  const failed = subscriptions.filter(({ error }) => error !== undefined)
  assert.equal(failed.length, 1)
  assert.deepEqual(ends, ['reader'])
  assert.equal(account.usedBytes, (used / 3) * 2)
  await append(store, 5)
  const left = subscriptions.filter(({ error }) => error === undefined)
  left.push(new Counted(store))
  await until(
    () => left.every(({ events }) => events === 10) || undefined,
    () => `events: ${left.map(({ events }) => events)}`,
  )
})

test('further reader threads are started when there are more queries than threads', async (t) => {
  const opened = await openStore(t, { atOpen: 1, most: 3 })
  const { store } = opened
  await append(store, 5)
  for (let i = 0; i < 5; i++) assert.equal(await countEvents(store), 5)
  // Subscriptions that have caught up are no load.
  await allCaughtUp([new Counted(store)])
  await allCaughtUp([new Counted(store)])
  assert.equal(opened.started, 1)
  for (let threads = 2; threads <= 3; threads++) {
    // It never yields: the query after it needs another thread.
    store.start('hang', {})
    const stuck = store.read({ anyOf: [{ tags: ['all'] }], order: 'asc' })
    await until(
      () => opened.started === threads || undefined,
      () => `${opened.started} threads were started`,
    )
    stuck.cancel()
    await until(
      async () => (await countEvents(store)) === 5 || undefined,
      () => 'a query does not get to the new thread',
    )
  }
})

async function isCached(store: SqliteEventStore): Promise<boolean> {
  try {
    for await (const _ of store.start('cached', {}));
  } catch (error) {
    if (error instanceof Error && /^(not )?cached$/.test(error.message)) return error.message === 'cached'
    throw error
  }
  throw new Error('the job ends with an error')
}

test('the capacity of the caches is divided among the reader threads, and changes while they run', async (t) => {
  const { store } = await openStore(t, { atOpen: 2, most: 2 })
  await append(store, 2048)
  await store.settle()
  const onBoth = (): Promise<boolean[]> => Promise.all([isCached(store), isCached(store)])
  assert.deepEqual(await onBoth(), [true, true])
  store.cacheBytes = 0
  assert.deepEqual(await onBoth(), [false, false])
  // A thread that is restarted has the same capacity.
  await assert.rejects(async () => {
    for await (const _ of store.start('end', {}));
  })
  assert.deepEqual(await onBoth(), [false, false])
  store.cacheBytes = 1024 * 1024
  assert.deepEqual(await onBoth(), [true, true])
  // Half of it is too little for the block.
  store.cacheBytes = blockBytes
  assert.deepEqual(await onBoth(), [false, false])
  store.cacheBytes = 8 * blockBytes
  assert.deepEqual(await onBoth(), [true, true])
})

test('a store can be closed while another reader thread starts', async (t) => {
  const opened = await openStore(t, { atOpen: 1, most: 3 })
  const { store } = opened
  store.start('hang', {})
  store.start('hang', {})
  await store.close()
  assert.deepEqual(opened.ends, [])
})
