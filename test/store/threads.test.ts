import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MessageChannel, type Worker } from 'node:worker_threads'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { logStats, SqliteEventStore } from '../../src/store/index.ts'
import { SharedCounts } from '../../src/store/sqlite/index.ts'
import { PostSignal } from '../../src/store/threads/post-signal.ts'
import { newLink } from '../../src/store/threads/reader/reader-link.ts'
import { spawn, untilOpen } from '../../src/store/threads/spawn.ts'
import { Gate } from '../../src/store/threads/thread-messages.ts'
import type { WriterData } from '../../src/store/threads/writer/writer-messages.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/process.ts'

function request(count: number, from: number): Parameters<SqliteEventStore['append']>[0] {
  const events = Array.from({ length: count }, (_, i) => ({
    appId: 'com.example.a',
    tags: ['all', `id:${from + i}`],
    payload: `{"i":${from + i}}`,
  }))
  return { ...packed(events), streams: new Uint32Array(count) }
}

test('events of concurrent appends are stored at the offsets that the append results name', async (t) => {
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file: join(temporaryFolder(t), 'log.db'),
    topic: 't',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
  })
  t.after(() => store.close())
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, i) => store.append(request(i % 3 === 0 ? 100 : 1, i * 1000))),
  )
  const total = results.reduce((sum, { runs }) => sum + (runs[0]?.count ?? 0), 0)
  let text = ''
  for await (const piece of store.read({ anyOf: [{ tags: ['all'] }], order: 'asc' })) text += piece.toString()
  const events = text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { offset: number; payload: { i: number } })
  assert.equal(events.length, total)
  for (const [i, { runs }] of results.entries()) assert.equal(events[runs[0]?.offset ?? -1]?.payload.i, i * 1000)
  assert.deepEqual(
    (await store.streams()).map(({ count, own }) => [count, own]),
    [[total, true]],
  )
})

function openWithBreakingReader(t: TestContext): Promise<SqliteEventStore> {
  return SqliteEventStore.open({
    runtime: systemRuntime,
    file: join(temporaryFolder(t), 'log.db'),
    topic: 't',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
    readerModule: new URL('../support/breaking-reader-thread.ts', import.meta.url),
    failed: (error) => assert.fail(error),
  })
}

async function countEvents(store: SqliteEventStore): Promise<number> {
  let text = ''
  for await (const piece of store.read({ anyOf: [{ tags: ['all'] }], order: 'asc' })) text += piece.toString()
  return text.split('\n').length - 1
}

test('a reader thread that ends is restarted: running queries fail, later ones succeed', async (t) => {
  const store = await openWithBreakingReader(t)
  t.after(() => store.close())
  await store.append(request(10, 0))
  for (let i = 1; i <= 3; i++) {
    const failing = [store.start('subscribe', subscription), store.start('end', {})].map((reading) =>
      assert.rejects(async () => {
        for await (const _ of reading);
      }),
    )
    await Promise.all(failing)
    assert.equal(await countEvents(store), 10 * i)
    // Commits wake the new thread, too.
    const lines = store.start('subscribe', subscription)
    let seen = 0
    let appended = false
    for await (const piece of lines) {
      const caughtUp = seen > 0 || /"type":"offsets"/.test(piece.toString())
      seen += (piece.toString().match(/"type":"event"/g) ?? []).length
      if (caughtUp && seen === 10 * i && !appended) {
        appended = true
        await store.append(request(10, 100 * i))
      }
      if (seen === 10 * (i + 1)) break
    }
  }
})

const subscription = { query: "FROM 'all'", appId: 'com.example.a', via: 'http', lowerBound: {} }

test('a new reader thread is woken once the writer is connected to it', async (t) => {
  const sealer = new MessageChannel()
  const [link, end] = newLink()
  const data: WriterData = {
    file: join(temporaryFolder(t), 'log.db'),
    topic: 't',
    kind: 'live',
    privateKey: KeyPair.generate(systemRandom).toPrivateText(),
    counts: new SharedCounts().memory,
    sealerEnded: new Gate().memory,
    posts: new PostSignal().memory,
    sealer: sealer.port1,
  }
  const writer = spawn(new URL('../../src/store/threads/writer/writer-thread.ts', import.meta.url), data, [
    sealer.port1,
  ])
  t.after(async () => {
    await writer.terminate()
    for (const port of [sealer.port2, end.port]) port.close()
  })
  await untilOpen(writer)
  const woken = once(end.port, 'message')
  writer.postMessage({ reader: 0, link }, [link.port])
  await woken
  const posts = new PostSignal(end.posts)
  await until(
    () => posts.count === 1 || undefined,
    () => `the signal was raised ${posts.count} times`,
  )
})

test('a query that never yields does not block closing the store', async (t) => {
  const store = await openWithBreakingReader(t)
  await store.append(request(10, 0))
  store.start('hang', {})
  await store.close()
})

test('complete chunks are sealed when the writer is idle', async (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file,
    topic: 't',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
  })
  t.after(() => store.close())
  for (const chunks of [1, 2]) {
    await store.append(request(1100, chunks * 10_000))
    await until(
      () => logStats(file).streams.find(({ segments }) => segments === chunks),
      () => JSON.stringify(logStats(file)),
    )
  }
})

test('appends that the writer has received get their results even if the sealer ends', {
  timeout: 60_000,
}, async (t) => {
  const threads: Worker[] = []
  const started = (thread: Worker): void => void threads.push(thread)
  process.on('worker', started)
  t.after(() => process.off('worker', started))
  const failures: string[] = []
  const file = join(temporaryFolder(t), 'log.db')
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file,
    topic: 't',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
    failed: ({ message }) => failures.push(message),
  })
  t.after(() => store.close())
  // The writer and the reader are open, and the third thread is the sealer.
  await store.append(request(1100, 0))
  const sealer = await until(
    () => threads[2],
    () => `${threads.length} threads`,
  )
  await until(
    () => logStats(file).streams.find(({ segments }) => segments === 1),
    () => 'nothing was sealed',
  )
  const appends = Array.from({ length: 200 }, (_, i) => store.append(request(10, 10_000 + i * 10)))
  await Promise.all([sealer.terminate(), ...appends])
  assert.equal(failures.length, 1)
  await assert.rejects(store.append(request(1, 99_999)), /sealer thread has ended/)
})

test('close settles when the writer ends meanwhile', { timeout: 60_000 }, async (t) => {
  const threads: Worker[] = []
  const started = (thread: Worker): void => void threads.push(thread)
  process.on('worker', started)
  t.after(() => process.off('worker', started))
  const file = join(temporaryFolder(t), 'log.db')
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file,
    topic: 't',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
  })
  await store.append(request(10, 0))
  const closing = store.close()
  // The writer is started first.
  const [writer] = threads
  assert.ok(writer !== undefined)
  await writer.terminate()
  await closing.catch(() => {})
  await assert.rejects(store.append(request(1, 10)))
})

test('a store can be closed while appends wait for the sealer', async (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const options = { file, topic: 't', kind: 'live', key: KeyPair.generate(systemRandom) } as const
  const store = await SqliteEventStore.open({ ...options, runtime: systemRuntime })
  const [requests, events] = [100, 1024]
  const appended = Array.from({ length: requests }, (_, i) => store.append(request(events, i * events)))
  await store.close()
  await Promise.all(appended)
  const again = await SqliteEventStore.open({ ...options, runtime: systemRuntime })
  t.after(() => again.close())
  assert.deepEqual(
    (await again.streams()).map(({ count }) => count),
    [requests * events],
  )
})
