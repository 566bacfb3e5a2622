import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { format } from '../../src/base/format.ts'
import type { Events, EventsOptions } from '../../src/events/index.ts'
import { Files } from '../../src/files/index.ts'
import { linesOf } from '../../src/files/lines.ts'
import { FileBuilder } from '../../src/files/unixfs/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { nodeId, silent } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openEvents } from '../support/open-events.ts'

const nothing = { count: 0, bytes: 0 }
const app = 'com.example.test'

interface Opened {
  readonly files: Files
  readonly events: Events
  /** Uploads one file and returns its CID. */
  upload(text: string): Promise<string>
  /** Whether a file is stored. */
  has(cid: string): Promise<boolean>
  close(): Promise<void>
}

async function open(folder: string, blocks = 'blocks.db', streams: EventsOptions['streams'] = {}): Promise<Opened> {
  const events = await openEvents(join(folder, 'log.db'), streams)
  const files = new Files({ ...systemRuntime, file: join(folder, blocks), node: nodeId, events, log: silent })
  const upload = (text: string) => files.upload(app, (target) => target.add('file', contentOf(text)))
  const has = async (cid: string) => (await files.find(cid, [])).content !== undefined
  const close = async () => {
    await files.close()
    await events.close()
  }
  return { files, events, upload, has, close }
}

async function* contentOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

async function opened(t: TestContext, folder = temporaryFolder(t)): Promise<Opened> {
  const parts = await open(folder)
  t.after(() => parts.close())
  return parts
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve))
}

/** The payloads of the events with certain tags. */
async function payloads({ events }: Opened, tags: string): Promise<unknown[]> {
  const query = `FROM ${tags}`
  const request = { query, appId: app, via: 'websocket', order: 'asc', lowerBound: {}, upperBound: undefined } as const
  const found: unknown[] = []
  for await (const lines of linesOf(events.query(request)))
    for (const line of lines as { type: string; payload?: unknown }[])
      if (line.type === 'event') found.push(line.payload)
  return found
}

const day = { secs: 86_400, nanos: 0 }

test('an upload is pinned until it is removed, and then cached until it is evicted', async (t) => {
  const { files, upload, has } = await opened(t)
  const cid = await upload('kept')
  await files.collect(nothing)
  assert.equal(await has(cid), true)
  assert.equal(await files.remove(app, cid), true)
  assert.equal(await files.remove(app, cid), false)
  await files.collect({ count: 10, bytes: 1000 })
  assert.equal(await has(cid), true)
  await files.collect(nothing)
  assert.equal(await has(cid), false)
  assert.equal(await upload('kept'), cid)
  await files.collect(nothing)
  assert.equal(await has(cid), true)
})

test('a name pins its current CID and unpins the previous one', async (t) => {
  const { files, upload, has } = await opened(t)
  const [one, two] = [await upload('one'), await upload('two')]
  for (const cid of [one, two]) await files.remove(app, cid)
  assert.equal(await files.bind('name', one), undefined)
  assert.equal(await files.bind('name', two), one)
  await files.collect(nothing)
  assert.deepEqual([await has(one), await has(two)], [false, true])
  assert.equal(await files.unbind('name'), two)
  await files.collect(nothing)
  assert.equal(await has(two), false)
})

test('a standing query pins its results until it expires, and replaces the previous one of the app', async (t) => {
  const { files, events, upload, has } = await opened(t)
  const [one, two] = [await upload('one'), await upload('two')]
  for (const cid of [one, two]) await files.remove(app, cid)
  const say = (tag: string, cid: string) =>
    events.publish(app, Buffer.from(JSON.stringify({ data: [{ tags: [tag], payload: cid }] })))
  await say('a', one)
  await files.prefetch(app, "FROM 'a'", day)
  await say('a', two)
  await files.collect(nothing)
  assert.deepEqual([await has(one), await has(two)], [true, true])
  await files.prefetch(app, "FROM 'none'", day)
  await files.prefetch('com.example.other', `FROM 'a' FILTER _ = '${one}'`, day)
  await files.collect(nothing)
  assert.deepEqual([await has(one), await has(two)], [true, false])
  await files.prefetch('com.example.other', "FROM 'a'", { secs: 0, nanos: 0 })
  await files.collect(nothing)
  assert.equal(await has(one), false)
})

test('a garbage collection does not evict blocks of an upload in progress', async (t) => {
  const { files, has } = await opened(t)
  const cid = await files.upload(app, async (target) => {
    await target.add('a', contentOf('first'))
    await files.collect(nothing)
    await target.add('b', contentOf('second'))
  })
  await files.collect(nothing)
  assert.equal(await has(cid), true)
  const { content } = await files.find(cid, ['a'])
  assert.equal(content?.size, 5)
})

test('a failed upload leaves no blocks and deletes none of others', async (t) => {
  const { files, upload, has } = await opened(t)
  const kept = await upload('shared')
  const failed = files.upload(app, async (target) => {
    await target.add('a', contentOf('shared'))
    await target.add('b', contentOf('alone'))
    throw new Error('the client has gone')
  })
  await assert.rejects(failed, /the client has gone/)
  assert.equal(await has(kept), true)
  const builder = new FileBuilder(() => {})
  builder.add(Buffer.from('alone'))
  assert.equal(await has(String(builder.finish().cid)), false)
})

test('names and uploads are rebuilt from events after the block database is lost', async (t) => {
  const folder = temporaryFolder(t)
  const first = await open(folder)
  const cid = await first.upload('content')
  await first.files.bind('name', cid)
  await first.files.bind('gone', cid)
  await first.files.unbind('gone')
  await first.close()
  const second = await open(folder, 'other.db')
  t.after(() => second.close())
  await until(async () => (await second.files.names()).length > 0)
  assert.deepEqual(await second.files.names(), [{ name: 'name', cid }])
  assert.equal(await second.files.remove(app, cid), true)
})

test('names and uploads survive the pruning of their events, also across a restart', async (t) => {
  const folder = temporaryFolder(t)
  const few = { maxEvents: 10, maxSize: null, maxAge: null }
  const limited = { default: few, files: few }
  const first = await open(folder, 'blocks.db', limited)
  const [one, two] = [await first.upload('one'), await first.upload('two')]
  await first.files.bind('name', one)
  await first.files.bind('gone', one)
  await first.files.unbind('gone')
  for (const tags of [['default'], ['files']]) {
    const data = Array.from({ length: 2 * format.eventsPerCheckpoint }, () => ({ tags, payload: null }))
    await first.events.publish('com.actyx', Buffer.from(JSON.stringify({ data })))
  }
  await first.events.prune()
  // They are in the stream without limits.
  assert.equal((await payloads(first, "'files:created'")).length, 2)
  assert.equal((await payloads(first, "'ans'")).length, 3)
  await first.close()
  const second = await open(folder, 'blocks.db', limited)
  t.after(() => second.close())
  assert.deepEqual(await second.files.names(), [{ name: 'name', cid: one, size: 3 }])
  await second.files.collect(nothing)
  assert.deepEqual([await second.has(one), await second.has(two)], [true, true])
  assert.equal(await second.files.bind('name', two), one)
  assert.equal(await second.files.bind('gone', two), undefined)
})

test('a name with the form of a CID is ignored in events', async (t) => {
  const { files, events, upload } = await opened(t)
  const cid = await upload('content')
  const data = [cid, 'after'].map((name) => ({ tags: ['ans'], payload: { Add: { name, cid } } }))
  await events.publish('com.actyx', Buffer.from(JSON.stringify({ data })))
  await until(async () => (await files.names()).length > 0)
  assert.deepEqual(
    (await files.names()).map(({ name }) => name),
    ['after'],
  )
})
