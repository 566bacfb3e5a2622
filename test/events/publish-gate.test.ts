import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { Events } from '../../src/events/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { EventStore, StartMarks } from '../../src/store/index.ts'
import type { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { OwnStreamsGate } from '../../src/swarm/index.ts'
import { eventsIn, memoryStore, nodeId, silent } from '../support/api.ts'
import { virtualRuntime } from '../support/virtual-runtime.ts'

const routes = [{ from: "'a'", into: 'one' }]
const more = [...routes, { from: "'b'", into: 'two' }]

const open = (store: EventStore, given = routes) =>
  Events.open(store, { ...systemRuntime, node: nodeId, routes: given, log: silent })

async function streamOf(events: Events, ...tags: string[]): Promise<number> {
  const text = await events.publish('com.example.app', Buffer.from(JSON.stringify({ data: [{ tags, payload: null }] })))
  const [{ stream }] = (JSON.parse(String(text)) as { data: [{ stream: string }] }).data
  return Number(stream.slice(nodeId.length + 1))
}

/** A node that lost what it has published since a moment, when it had the routes only. */
async function lostNode(found: Partial<StartMarks>) {
  const original = memoryStore()
  await original.markAnnounced()
  await streamOf(await open(original), 'a')
  const store = original.copy(found)
  const events = await open(original, more)
  for (let i = 0; i < 3; i++) await streamOf(events, 'b')
  const runtime = virtualRuntime()
  const gate = await OwnStreamsGate.open(store, { ...runtime, log: silent })
  const doubtful = await Events.open(store, { ...systemRuntime, node: nodeId, routes: more, log: silent, gate })
  return { original, store, gate, events: doubtful, timers: runtime.timers }
}

/** Fetches all that the original has, as a peer would send it. */
async function adopt(original: MemoryEventStore, store: EventStore, gate: OwnStreamsGate): Promise<void> {
  for (const { key, count } of await original.heads()) {
    const known = await store.streamOf(key)
    if (count > (known?.count ?? 0)) gate.compared('peer', [{ stream: key.number, count, is: 'longer' }])
  }
  for (const { number, key, count } of await original.heads()) {
    const chunk = await original.chunk(number, (await store.streamOf(key))?.count ?? 0)
    if (chunk !== undefined) assert.equal((await store.receive(chunk)).state, 'stored')
    gate.adopted(key.number, count)
  }
}

test('a publish after a doubtful start waits until own events were adopted, and continues them', async () => {
  const { original, store, gate, events } = await lostNode({ isRestored: true })
  const before = await eventsIn(store)
  const publishing = streamOf(events, 'b')
  assert.deepEqual(await eventsIn(store), before, 'the store can be read, and nothing is appended')
  await adopt(original, store, gate)
  assert.equal(await publishing, 5)
  const all = await eventsIn(original)
  assert.deepEqual((await eventsIn(store)).slice(0, -1), all, 'no name has got a second number')
})

test('pruning waits as well, without failing', async () => {
  const { events, gate } = await lostNode({ isRestored: true })
  await events.prune()
  assert.equal(gate.isOpen, false)
})

test('a publish that waits for too long fails with the reason, and nothing is stored', async () => {
  const { store, events, timers } = await lostNode({ isRestored: true })
  const before = await eventsIn(store)
  const publishing = assert.rejects(streamOf(events), { code: 'ERR_OWN_STREAMS_UNCERTAIN', status: 503 })
  timers.advance(limits.publishWaitMs)
  await publishing
  assert.deepEqual(await eventsIn(store), before)
})

test('own streams that could not be adopted are left, and their names get new numbers', async () => {
  const { original, store, gate, events, timers } = await lostNode({ isCleanStop: false })
  const [first] = await original.heads()
  assert.equal(first?.key.number, 0)
  gate.compared('peer', [
    { stream: 0, count: first.count, is: 'longer' },
    { stream: 5, count: 3, is: 'longer' },
  ])
  const publishing = streamOf(events)
  timers.advance(limits.ownPeerMs)
  const moved = await publishing
  assert.ok(moved > 5, `stream ${moved} is on no other node`)
  assert.equal(await streamOf(events), moved)
  assert.equal(await streamOf(events, 'a'), 1)
  assert.equal((await store.streams()).find(({ key }) => key.number === 0)?.count, 5)
  assert.equal(await streamOf(await open(store, more)), moved)
})

test('a publish waits when a peer has more of an own stream, and continues what was adopted', async () => {
  const { original, store, gate, events, timers } = await lostNode({ isCleanStop: false })
  timers.advance(limits.ownPeerMs)
  await gate.wait()
  gate.behind('peer', { stream: 0, count: (await original.heads())[0]?.count ?? 0 })
  const publishing = streamOf(events, 'b')
  await adopt(original, store, gate)
  assert.equal(await publishing, 5, 'the adopted events give the name its number')
  assert.deepEqual((await eventsIn(store)).slice(0, -1), await eventsIn(original))
})

test('an own stream that is longer elsewhere is left while the node runs, if it cannot be adopted', async () => {
  const { gate, events, timers } = await lostNode({})
  assert.equal(await streamOf(events, 'a'), 1)
  gate.behind('peer', { stream: 1, count: 100 })
  const publishing = streamOf(events, 'a')
  timers.advance(limits.ownPeerMs)
  const moved = await publishing
  assert.ok(moved > 1, `stream ${moved} is on no other node`)
  assert.equal(await streamOf(events, 'a'), moved)
})

test('closing fails the publishes that wait', async () => {
  const { events } = await lostNode({ isRestored: true })
  const publishing = assert.rejects(streamOf(events), { code: 'ERR_SHUTTING_DOWN' })
  await events.close()
  await publishing
})
