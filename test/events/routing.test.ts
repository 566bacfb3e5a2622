import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Events } from '../../src/events/index.ts'
import { needsFactsStream, RoutingTable } from '../../src/events/routing-table.ts'
import { StreamNames } from '../../src/events/stream-names.ts'
import { encodeLabels } from '../../src/protocol/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { EventStore } from '../../src/store/index.ts'
import { eventsIn, memoryStore, nodeId, silent } from '../support/api.ts'

type Routes = { from: string; into: string }[]

const open = (store: EventStore, routes: Routes) =>
  Events.open(store, { ...systemRuntime, node: nodeId, routes, log: silent })

interface Line {
  readonly stream: string
  readonly appId: string
  readonly tags: string[]
  readonly payload: unknown
}

async function mappings(store: EventStore): Promise<unknown[]> {
  const lines = (await eventsIn(store)).map((line) => JSON.parse(line) as Line)
  const found = lines.filter(({ tags }) => tags.includes('event_routing'))
  for (const { stream, appId } of found) assert.deepEqual([stream, appId], [`${nodeId}-0`, 'com.actyx'])
  return found.map(({ payload }) => payload)
}

const mapping = (streamName: string, streamNr: number) => ({ streamName, streamNr })
const builtIn = ['default', 'discovery', 'metrics', 'files'].map(mapping)

async function streamsOf(events: Events, ...tagLists: string[][]): Promise<string[]> {
  const data = tagLists.map((tags) => ({ tags, payload: null }))
  const text = String(await events.publish('com.example.app', Buffer.from(JSON.stringify({ data }))))
  return (JSON.parse(text) as { data: { stream: string }[] }).data.map(({ stream }) => stream.slice(44))
}

test('the first start without routes creates the four streams of the node', async () => {
  const store = memoryStore()
  await open(store, [])
  assert.deepEqual(await mappings(store), builtIn)
  await open(store, [])
  assert.deepEqual(await mappings(store), builtIn)
})

test('the first start with routes numbers their streams first, a later start appends new ones', async () => {
  const store = memoryStore()
  const routes = [
    { from: "'a'", into: 'one' },
    { from: "'b'", into: 'default' },
    { from: "'c'", into: 'two' },
    { from: "'d'", into: 'one' },
  ]
  await open(store, routes)
  const first = ['default', 'one', 'two', 'discovery', 'metrics', 'files'].map(mapping)
  assert.deepEqual(await mappings(store), first)
  await open(store, [{ from: "'e'", into: 'three' }])
  assert.deepEqual(await mappings(store), [...first, mapping('three', 6)])
})

test('the first matching route decides, and an event without a match goes to the first stream', async () => {
  const events = await open(memoryStore(), [
    { from: "'a' & 'b' | 'c'", into: 'one' },
    { from: "'a'", into: 'two' },
    { from: "'o''clock' | 'é'", into: 'three' },
  ])
  const tagLists = [['a', 'b', 'x'], ['c'], ['a'], ['b'], [], ["o'clock"], ['e\u0301'], ['x', 'b', 'a']]
  // Once more, when all streams are known.
  for (let times = 0; times < 2; times++)
    assert.deepEqual(await streamsOf(events, ...tagLists), ['1', '1', '2', '0', '0', '3', '3', '1'])
})

test("the node's own streams get its own events, and routes of the operator take precedence", () => {
  const numbers = new Map(Object.entries({ default: 0, mine: 1, discovery: 2, metrics: 3, files: 4 }))
  const table = new RoutingTable([{ from: "'files:pinned'", into: 'mine' }], numbers)
  const own = (...tags: string[]) => table.streamFor('com.actyx', tags)
  assert.deepEqual([own('discovery'), own('metrics'), own('files', 'files:created'), own('ans')], [2, 3, 4, 0])
  assert.equal(own('files', 'files:pinned'), 1)
  assert.equal(table.streamFor('com.actyx.cli', ['metrics']), 0)
})

test('facts avoid streams with limits, other events and events of apps do not', () => {
  const names = ['default', 'mine', 'discovery', 'metrics', 'files', 'node.facts']
  const numbers = new Map(names.map((name, i) => [name, i]))
  const route = { from: "'ans' & 'x'", into: 'mine' }
  const streams = (...limited: string[]) => {
    const table = new RoutingTable([route], numbers, new Set(limited))
    const lists = [
      ['ans'],
      ['ans', 'x'],
      ['event_routing'],
      ['other'],
      ['files', 'files:pinned'],
      ['files', 'files:created'],
      ['files', 'files:removed'],
    ]
    const byTags = lists.map((tags) => table.streamFor('com.actyx', tags))
    const byLabels = lists.map((tags) => table.streamForLabels('com.actyx', encodeLabels('com.actyx', tags)))
    assert.deepEqual(byLabels, byTags, 'publishing decides by the bytes of labels')
    return byTags
  }
  assert.deepEqual(streams(), [0, 1, 0, 0, 4, 4, 4])
  assert.deepEqual(streams('default'), [5, 1, 5, 0, 4, 4, 4])
  assert.deepEqual(streams('default', 'files'), [5, 1, 5, 0, 4, 5, 5])
  assert.deepEqual(streams('mine'), [0, 5, 0, 0, 4, 4, 4])
  const table = new RoutingTable([route], numbers, new Set(['default', 'mine']))
  assert.deepEqual(
    [table.streamFor('com.example.app', ['ans']), table.streamFor('com.example.app', ['ans', 'x'])],
    [0, 1],
  )
})

test('a stream for facts is needed if the default stream, or one with a route for facts, has limits', () => {
  const needs = (routes: Routes, ...limited: string[]) => needsFactsStream(routes, new Set(limited))
  const routes = [
    { from: "'files:removed'", into: 'mine' },
    { from: "'logs'", into: 'logs' },
  ]
  assert.deepEqual([needs(routes), needs(routes, 'logs', 'metrics', 'discovery')], [false, false])
  assert.deepEqual([needs(routes, 'default'), needs(routes, 'files'), needs(routes, 'mine')], [true, true, true])
  assert.equal(needs([], 'mine'), false)
})

test('streams that are named at the same time get different numbers', async () => {
  const store = memoryStore()
  const names = await StreamNames.read(store)
  await names.add(['default'], false)
  await Promise.all([names.add(['one', 'two'], false), names.add(['three'], false), names.add(['one'], false)])
  assert.deepEqual(Object.fromEntries(names.numbers), { default: 0, one: 1, two: 2, three: 3 })
  assert.deepEqual((await StreamNames.read(store)).numbers, names.numbers)
})

test('changed routes apply to the next event, and their streams are recorded at once', async () => {
  const store = memoryStore()
  const events = await open(store, [])
  assert.deepEqual(await streamsOf(events, ['a']), ['0'])
  events.routes = [{ from: "'a'", into: 'one' }]
  assert.deepEqual(await streamsOf(events, ['a'], ['b']), ['4', '0'])
  events.routes = []
  events.routes = [{ from: "'b'", into: 'two' }]
  assert.deepEqual(await streamsOf(events, ['a'], ['b']), ['0', '5'])
  assert.deepEqual(await mappings(store), [...builtIn, mapping('one', 4), mapping('two', 5)])
})

test('while a new stream cannot be recorded, publishes fail and nothing is lost', async () => {
  const inner = memoryStore()
  let isFull = false
  const store = new Proxy<EventStore>(inner, {
    get: (target, name) => {
      const method = (Reflect.get(target, name) as ((...args: unknown[]) => unknown) | undefined)?.bind(target)
      if (method === undefined) return undefined
      return (...args: unknown[]) => {
        if (name === 'append' && isFull) return Promise.reject(new Error('disk full'))
        return method(...args)
      }
    },
  })
  const events = await open(store, [])
  isFull = true
  events.routes = [{ from: "'a'", into: 'one' }]
  await assert.rejects(streamsOf(events, ['a']), { message: 'disk full' })
  isFull = false
  assert.deepEqual(await streamsOf(events, ['a']), ['4'])
  assert.deepEqual(await mappings(inner), [...builtIn, mapping('one', 4)])
})
