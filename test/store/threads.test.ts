import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MessageChannel, type Worker } from 'node:worker_threads'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { logStats, SqliteEventStore, verifyLog } from '../../src/store/index.ts'
import { SharedCounts } from '../../src/store/sqlite/index.ts'
import { spawn, untilOpen } from '../../src/store/threads/spawn.ts'
import { Gate } from '../../src/store/threads/thread-messages.ts'
import { PostSignal } from '../../src/store/threads/writer/post-signal.ts'
import type { WriterData } from '../../src/store/threads/writer/writer-thread.ts'
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

test('concurrent appends are readable once they are acknowledged, in the order of their responses', async (t) => {
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file: join(temporaryFolder(t), 'log.db'),
    topic: 't',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
  })
  t.after(() => store.close())
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => store.append(request(i % 3 === 0 ? 100 : 1, i * 1000))),
  )
  const total = answers.reduce((sum, { runs }) => sum + (runs[0]?.count ?? 0), 0)
  let text = ''
  for await (const piece of store.read({ anyOf: [{ tags: ['all'] }], order: 'asc' })) text += piece.toString()
  const events = text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { offset: number; payload: { i: number } })
  assert.equal(events.length, total)
  for (const [i, { runs }] of answers.entries()) assert.equal(events[runs[0]?.offset ?? -1]?.payload.i, i * 1000)
  assert.deepEqual(
    (await store.streams()).map(({ count, own }) => [count, own]),
    [[total, true]],
  )
})

test('a backup during appends is a consistent snapshot of the store, and verifies', async (t) => {
  const folder = temporaryFolder(t)
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file: join(folder, 'log.db'),
    topic: 't',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
  })
  t.after(() => store.close())
  await store.append(request(5000, 0))
  let copied = false
  const copying = store.backup(join(folder, 'copy.db')).finally(() => {
    copied = true
  })
  let appended = 5000
  while (!copied) {
    await store.append(request(100, appended))
    appended += 100
  }
  await copying
  const { problems, events } = verifyLog(join(folder, 'copy.db'))
  assert.deepEqual(problems, [])
  assert.ok(events >= 5000 && events <= appended && events % 100 === 0)
  await assert.rejects(store.backup(join(folder, 'copy.db')), { code: 'ERR_INVALID_INPUT', message: /exists already/ })
})

function openBreaking(t: TestContext): Promise<SqliteEventStore> {
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

async function all(store: SqliteEventStore): Promise<number> {
  let text = ''
  for await (const piece of store.read({ anyOf: [{ tags: ['all'] }], order: 'asc' })) text += piece.toString()
  return text.split('\n').length - 1
}

test('a reader thread that ends is replaced: running reads fail, and later ones work', async (t) => {
  const store = await openBreaking(t)
  t.after(() => store.close())
  await store.append(request(10, 0))
  for (let i = 1; i <= 3; i++) {
    const others = [store.start('subscribe', subscription), store.start('end', {})].map((reading) =>
      assert.rejects(async () => {
        for await (const _ of reading);
      }),
    )
    await Promise.all(others)
    assert.equal(await all(store), 10 * i)
    // The new thread gets new events, too.
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
  const [sealer, commits, others] = [new MessageChannel(), new MessageChannel(), new MessageChannel()]
  const ports = { sealer: sealer.port1, commits: commits.port1 }
  const data: WriterData = {
    file: join(temporaryFolder(t), 'log.db'),
    topic: 't',
    kind: 'live',
    privateKey: KeyPair.generate(systemRandom).toPrivateText(),
    counts: new SharedCounts().memory,
    sealerEnded: new Gate().memory,
    posts: new PostSignal().memory,
    ...ports,
  }
  const writer = spawn(
    new URL('../../src/store/threads/writer/writer-thread.ts', import.meta.url),
    data,
    Object.values(ports),
  )
  t.after(async () => {
    await writer.terminate()
    for (const { port2 } of [sealer, commits, others]) port2.close()
  })
  await untilOpen(writer)
  const woken = once(others.port2, 'message')
  writer.postMessage({ commits: others.port1 }, [others.port1])
  await woken
})

test('a query that never yields does not prevent a store from closing', async (t) => {
  const store = await openBreaking(t)
  await store.append(request(10, 0))
  store.start('hang', {})
  await store.close()
})

test('complete chunks are sealed when the store is idle, each time', async (t) => {
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

test('closing completes even if the writer thread has ended meanwhile', { timeout: 60_000 }, async (t) => {
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
  // The thread that is started first.
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
