import assert from 'node:assert/strict'
import { mkdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import {
  type BackgroundNotice,
  BlobStore,
  SqliteEventStore,
  ThreadedBlobs,
  type ThreadWatch,
} from '../../src/store/index.ts'
import { CalledThread } from '../../src/store/threads/calls/calls.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/process.ts'
import type { RefusedCalls } from '../support/refused-calls-thread.ts'

/** Records all notices about threads and background work. */
function watch() {
  const notices: BackgroundNotice[] = []
  const seen: string[] = []
  const threads: ThreadWatch = {
    startFailed: (thread) => seen.push(`${thread} not started`),
    ended: (thread, { message }) => seen.push(`${thread} ended: ${message}`),
    started: (thread) => seen.push(`${thread} started`),
  }
  const background = (notice: BackgroundNotice): void => void notices.push(notice)
  const noticed = (work: string, isFailure: boolean) =>
    until(
      () => notices.find((notice) => notice.work === work && (notice.error !== undefined) === isFailure),
      () => `no notice for ${work}, but ${JSON.stringify(notices)}`,
    )
  return { notices, seen, options: { threads, background }, noticed }
}

async function openStore(t: TestContext, options: Partial<Parameters<typeof SqliteEventStore.open>[0]>) {
  const file = join(temporaryFolder(t), 'log.db')
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file,
    topic: 't',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
    ...options,
  })
  t.after(() => store.close())
  return { file, store }
}

function request(count: number): Parameters<SqliteEventStore['append']>[0] {
  const event = { appId: 'com.example.a', tags: ['all'], payload: '{}' }
  return { ...packed(Array.from({ length: count }, () => event)), streams: new Uint32Array(count) }
}

/** Makes the count file of a database unwritable until `repair`. It must not exist yet. */
function breakCount(database: string): { repair(): void } {
  mkdirSync(`${database}-count`)
  return { repair: () => rmdirSync(`${database}-count`) }
}

test('a failure to write the count file of events is reported, and so is the recovery; events are stored meanwhile', async (t) => {
  const { options, noticed } = watch()
  const { file, store } = await openStore(t, options)
  const { repair } = breakCount(file)
  await store.append(request(1))
  assert.match((await noticed('count_events', true)).error ?? '', /EISDIR/)
  repair()
  await store.probe()
  await noticed('count_events', false)
  assert.equal((await store.streams())[0]?.count, 1)
})

test('a failure to write the count file of blobs is reported, and so is the recovery', async (t) => {
  const { options, noticed } = watch()
  const file = join(temporaryFolder(t), 'blobs.db')
  new BlobStore(file, Date.now).close()
  const blobs = new ThreadedBlobs(file, options)
  t.after(() => blobs.close())
  // Opens the database, which reads the count file, before that is broken.
  assert.equal(await blobs.size('app', 'path'), undefined)
  const { repair } = breakCount(file)
  await blobs.put('app', 'path', { type: 'text/plain', bytes: Buffer.from('text') })
  assert.match((await noticed('count_blobs', true)).error ?? '', /EISDIR/)
  repair()
  await blobs.probe()
  await noticed('count_blobs', false)
})

test('a failure to seal damaged events is reported', async (t) => {
  const { options, noticed } = watch()
  const { file, store } = await openStore(t, options)
  const broken = new DatabaseSync(file)
  broken.exec(
    'CREATE TRIGGER broken AFTER INSERT ON tail BEGIN UPDATE tail SET body = zeroblob(length(body)) WHERE key = new.key; END',
  )
  broken.close()
  for (let i = 0; i < 2; i++) await store.append(request(format.eventsPerCheckpoint))
  await noticed('seal', true)
})

test('the end of a reader thread is reported, and so is the start of its replacement', async (t) => {
  const { options, seen } = watch()
  const readerModule = new URL('../support/breaking-reader-thread.ts', import.meta.url)
  const { store } = await openStore(t, { ...options, readerModule })
  assert.deepEqual(seen.splice(0).sort(), ['reader started', 'writer started'])
  await assert.rejects(store.start('end', undefined).started)
  await until(
    () => (seen.includes('reader started') ? true : undefined),
    () => `only these notices: ${seen}`,
  )
  assert.deepEqual(seen, ['reader ended: the thread that reads has ended', 'reader started'])
  await store.close()
  assert.equal(seen.length, 2, 'closing a store does not report the end of a thread')
})

test('the end of a called thread fails its calls and is reported, and the next call starts a new thread', async (t) => {
  const { options, seen } = watch()
  const module = new URL('../support/refused-calls-thread.ts', import.meta.url)
  const thread = new CalledThread<RefusedCalls>('blobs', module, {}, options)
  t.after(() => thread.close())
  await thread.call('wait', [1])
  await assert.rejects(thread.call('end', []), /the blobs thread has ended/)
  assert.equal(await thread.call('wait', [2]), 2)
  assert.deepEqual(seen, ['blobs started', 'blobs ended: the blobs thread has ended', 'blobs started'])
})
