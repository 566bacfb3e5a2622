import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { Events } from '../../src/events/index.ts'
import { StandingQueries } from '../../src/files/standing-queries.ts'
import { FileStore } from '../../src/files/thread/file-store.ts'
import { cidOf } from '../../src/files/unixfs/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { BackgroundReporter, type SqliteEventStore } from '../../src/store/index.ts'
import { nodeId, silent, sqliteStore } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { storeFile } from '../support/upload.ts'

const app = 'com.example.test'

/** Standing queries with a file store in this thread, so that a test can wait for its calls. */
async function open(t: TestContext) {
  const log = await sqliteStore(t)
  const startReading: SqliteEventStore['start'] = (job, request) => log.start(job, request)
  const events = await Events.open(log, { ...systemRuntime, node: nodeId, routes: [], log: silent, startReading })
  const files = new FileStore(join(temporaryFolder(t), 'blocks.db'), systemRuntime)
  let told = Promise.withResolvers<void>()
  const pinnedApps: unknown[] = []
  const call = async (name: string, args: readonly unknown[]): Promise<never> => {
    if (name === 'pinResults') pinnedApps.push(args[0])
    const method = files[name as keyof FileStore] as (...args: readonly unknown[]) => never
    const result = await method.apply(files, args as unknown[])
    if (name === 'pinMoreResults') {
      told.resolve()
      told = Promise.withResolvers()
    }
    return result
  }
  const queries = new StandingQueries({
    ...systemRuntime,
    thread: { call },
    events,
    log: silent,
    background: new BackgroundReporter(),
  })
  t.after(async () => {
    queries.close()
    await files.close()
  })
  const stand = (by: string, query: string, until = Number.MAX_SAFE_INTEGER, lamport = 1) =>
    files.apply([{ fact: { kind: 'query', app: by, query, until }, key: { lamport, stream: `${nodeId}-0` } }])
  const ask = async (query: string, until?: number, lamport?: number) => {
    await stand(app, query, until, lamport)
    await queries.run()
  }
  /** Resolved when the event is stored and its CID is pinned. */
  const say = async (tag: string, payload: string) => {
    const kept = told.promise
    await events.publish(app, Buffer.from(JSON.stringify({ data: [{ tags: [tag], payload }] })))
    await kept
  }
  /** A file that no upload pins. */
  const add = async (text: string): Promise<string> => {
    const { id, cid } = await storeFile(files, text)
    await files.apply([{ fact: { kind: 'upload', cid, isPinned: true }, key: { lamport: 1, stream: `${nodeId}-0` } }])
    files.endUpload(id)
    await files.apply([{ fact: { kind: 'upload', cid, isPinned: false }, key: { lamport: 2, stream: `${nodeId}-0` } }])
    return cid
  }
  const has = async (cid: string): Promise<boolean> => {
    while (await files.collect({ count: 0, bytes: 0 }));
    return files.find(cid, []).content !== undefined
  }
  return { events, queries, pinnedApps, stand, ask, say, add, has }
}

test('the CID in an event after the query is pinned as soon as the event is stored', async (t) => {
  const { ask, say, add, has } = await open(t)
  await ask("FROM 'a'")
  const cid = await add('one')
  await say('a', cid)
  assert.equal(await has(cid), true)
})

test('running a standing query again keeps its pins and continues the subscription', async (t) => {
  const { queries, ask, say, add, has } = await open(t)
  await ask("FROM 'a'")
  const one = await add('one')
  await say('a', one)
  await queries.run()
  assert.equal(await has(one), true)
  const two = await add('two')
  await say('a', two)
  assert.deepEqual([await has(one), await has(two)], [true, true])
})

test('a standing query that was replaced or has expired pins nothing new', async (t) => {
  const { ask, say, add, has } = await open(t)
  await ask("FROM 'a'")
  await ask("FROM 'b'", Number.MAX_SAFE_INTEGER, 2)
  const one = await add('one')
  await say('b', one)
  await ask("FROM 'b'", 0, 3)
  assert.equal(await has(one), false)
})

test('subscriptions of standing queries do not count towards the limit of apps', async (t) => {
  const { events, queries, ask, say, add, has } = await open(t)
  await ask("FROM 'a'")
  const request = { query: "FROM 'x'", appId: app, via: 'http', lowerBound: {} } as const
  for (let i = 0; i < limits.openQueries; i++) await events.subscribe(request).started
  assert.throws(() => events.subscribe(request), { code: 'ERR_BAD_REQUEST' })
  const one = await add('one')
  await say('a', one)
  await queries.run()
  assert.equal(await has(one), true)
})

test('running the standing query of one app does not run those of others', async (t) => {
  const { queries, pinnedApps, stand } = await open(t)
  const others = ['com.example.one', 'com.example.two']
  for (const by of others) await stand(by, "FROM 'a'")
  await queries.run(others[1])
  assert.deepEqual(pinnedApps, [others[1]])
  await queries.run()
  assert.deepEqual(pinnedApps, [others[1], ...others])
})

test('earlier pins are kept when a standing query has too many results', async (t) => {
  const { events, ask, say, add, has } = await open(t)
  await ask("FROM 'a'")
  const one = await add('one')
  await say('a', one)
  const payload = Array.from({ length: limits.standingQueryResults + 1 }, (_, i) => String(cidOf(Buffer.from(`${i}`))))
  await events.publish(app, Buffer.from(JSON.stringify({ data: [{ tags: ['b'], payload }] })))
  await ask("FEATURES(spread) FROM 'b' SELECT ..._", undefined, 2)
  assert.equal(await has(one), true)
})
