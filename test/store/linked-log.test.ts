import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { limits } from '../../src/base/limits.ts'
import { tuning } from '../../src/base/tuning.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { SqliteEventStore } from '../../src/store/index.ts'
import { LinkedLog } from '../../src/store/linked/index.ts'
import { ReadSlices } from '../../src/store/threads/link/read-slices.ts'
import { until } from '../support/process.ts'
import { VirtualClock } from '../support/virtual-runtime.ts'
import { memoryStore } from './acceptance/sources.ts'
import { openSqlite } from './acceptance/stores.ts'
import { chunksOf, numbered, range, requestOf, textOf } from './acceptance/support.ts'

const module = new URL('../support/linked-thread.ts', import.meta.url)

/** A thread with a link to a store. */
class LinkedThread {
  readonly worker: Worker
  readonly states: string[] = []
  readonly appended: number[] = []

  constructor(t: TestContext, store: SqliteEventStore) {
    const link = store.link()
    this.worker = new Worker(module, { workerData: link, transferList: [link.port] })
    this.worker.on('message', (message: { state: string } | { appended: number }) => {
      if ('state' in message) this.states.push(message.state)
      else this.appended.push(message.appended)
    })
    t.after(() => this.worker.terminate())
  }

  receive(chunks: readonly Uint8Array[]): void {
    for (const chunk of chunks) this.worker.postMessage(chunk)
  }

  async untilReceived(count: number): Promise<void> {
    await until(
      () => this.states.length >= count || undefined,
      () => `${this.states.length} of ${count} chunks were received`,
    )
  }
}

test('a store goes on when a linked thread dies while it receives, and another link receives the rest', async (t) => {
  const store = await openSqlite(t)
  const source = memoryStore()
  for (const i of range(0, 40)) await source.append(requestOf(numbered(1024, 1024 * i)))
  const chunks = await chunksOf(source)
  await store.append(requestOf(numbered(1)))
  for (const count of [1, 5, 9]) {
    const thread = new LinkedThread(t, store)
    thread.receive(chunks)
    await thread.untilReceived(count)
    await thread.worker.terminate()
    assert.deepEqual((await store.append(requestOf(numbered(1)))).runs[0]?.count, 1)
  }
  const last = new LinkedThread(t, store)
  last.receive(chunks)
  await last.untilReceived(chunks.length)
  assert.ok(
    last.states.every((state) => state === 'stored' || state === 'known'),
    last.states.join(),
  )
  const { number } = (await store.streams()).find(({ own }) => !own) ?? assert.fail()
  assert.deepEqual((await chunksOf(store, number)).length, chunks.length)
  assert.equal((await store.streams()).find(({ own }) => own)?.count, 4)
})

test('an append is committed before chunks of a linked thread that wait', async (t) => {
  const store = await openSqlite(t)
  const log = new LinkedLog(store.link(), systemRuntime)
  t.after(() => log.close())
  const source = memoryStore()
  // Each needs a commit of its own.
  const payload = JSON.stringify('x'.repeat(tuning.receiveSliceBytes))
  for (const _ of range(0, 24)) await source.append(requestOf([{ payload }]))
  let received = 0
  const receives = (await chunksOf(source)).map((chunk) => log.receive(chunk).then(() => received++))
  await receives[0]
  await store.append(requestOf(numbered(1)))
  assert.ok(received < receives.length, `${received} of ${receives.length} chunks were stored first`)
  await Promise.all(receives)
})

test('all threads that listen to own commits get their frames', async (t) => {
  const store = await openSqlite(t)
  const here: number[] = []
  store.onAppended((appended) => void here.push(...appended.map(({ count }) => count)))
  const threads = [new LinkedThread(t, store), new LinkedThread(t, store)]
  // The listener of a thread is connected some time after its start.
  let events = 0
  await until(
    async () => {
      await store.append(requestOf(numbered(1)))
      events++
      return threads.every(({ appended }) => appended.length > 0) || undefined
    },
    () => 'no frames arrived',
  )
  await store.append(requestOf(numbered(1)))
  events++
  const lists = (): readonly number[][] => [here, ...threads.map(({ appended }) => appended)]
  await until(
    () => lists().every((counts) => counts.at(-1) === events) || undefined,
    () => lists().join(' | '),
  )
})

test('calls of a link are rejected when its store is closed, and afterwards', async (t) => {
  const store = await openSqlite(t)
  const log = new LinkedLog(store.link(), systemRuntime)
  const source = memoryStore()
  await source.append(requestOf(numbered(3)))
  const [chunk] = await chunksOf(source)
  await log.receive(chunk as Uint8Array)
  const key = (await log.heads())[0]?.key ?? assert.fail()
  await store.close()
  await assert.rejects(log.headOf(key), /closed/)
  await assert.rejects(log.streamOf(key), /closed/)
  await assert.rejects(log.receive(chunk as Uint8Array), /closed/)
  await log.close()
})

test('chunks that wait to be stored are bounded for each link', async (t) => {
  const store = await openSqlite(t)
  const log = new LinkedLog(store.link(), systemRuntime)
  t.after(() => log.close())
  const source = memoryStore()
  await source.append(requestOf([{ payload: JSON.stringify('x'.repeat(limits.pendingReceivedBytes / 16)) }]))
  const [chunk] = await chunksOf(source)
  const results = await Promise.allSettled(range(0, 20).map(() => log.receive(chunk as Uint8Array)))
  const refused = results.filter(({ status }) => status === 'rejected')
  assert.equal(refused.length, 20 - 15)
  assert.equal(await textOf(store), await textOf(source))
})

test('reads for other nodes let the event loop run after a slice, and the error of one is its own', async () => {
  const clock = new VirtualClock()
  const turns: (() => void)[] = []
  const timers = { ...systemRuntime.timers, setImmediate: (work: () => void) => void turns.push(work) }
  const slices = new ReadSlices({ clock, timers })
  const done: number[] = []
  const reads = range(0, 5).map((i) =>
    slices.run(() => {
      clock.advance(tuning.peerReadSliceMs / 2)
      done.push(i)
      if (i === 3) throw new Error('damaged')
      return i
    }),
  )
  const perTurn: number[] = []
  for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
    const before = done.length
    turn()
    perTurn.push(done.length - before)
  }
  assert.deepEqual([done, perTurn], [range(0, 5), [2, 2, 1]])
  const results = await Promise.allSettled(reads)
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
})

test('a head table with more streams than are read at once is complete', async (t) => {
  const store = await openSqlite(t)
  const streams = range(0, 2 * tuning.headsPerRead)
  await store.append(requestOf(streams.flatMap((stream) => numbered(1, 0, stream))))
  const log = new LinkedLog(store.link(), systemRuntime)
  t.after(() => log.close())
  assert.deepEqual(
    (await log.heads()).map(({ number, count }) => [number, count]),
    streams.map((stream) => [stream, 1]),
  )
})

test('the verifier thread is started before the first chunk, and once', async (t) => {
  const store = await openSqlite(t)
  const started: string[] = []
  const ignore = (): void => {}
  const watch = { started: (thread: string) => void started.push(thread), ended: ignore, startFailed: ignore }
  const log = new LinkedLog(store.link(), systemRuntime, watch)
  t.after(() => log.close())
  for (const _ of range(0, 3)) log.prepareToReceive()
  await until(
    () => started.length > 0 || undefined,
    () => 'no thread was started',
  )
  const source = memoryStore()
  await source.append(requestOf(numbered(1)))
  for (const chunk of await chunksOf(source)) assert.equal((await log.receive(chunk)).state, 'stored')
  assert.deepEqual(started, ['verifier'])
})
