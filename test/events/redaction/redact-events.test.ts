import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair, type NodeId, nodeIdOf } from '../../../src/identity/index.ts'
import { nodeId } from '../../support/api.ts'
import { publish, World } from '../retention/world.ts'

const routes = [{ from: "'logs'", into: 'logs' }]
const none = { redacted: [], alreadyRedacted: [], pruned: [], unknown: [], facts: [] }

function stream(number: number | bigint, node: NodeId = nodeId) {
  return { node, number: BigInt(number) }
}

test('each event is redacted, or the answer says why not', async () => {
  const world = new World()
  const events = await world.open({ routes, streams: { logs: { maxEvents: 1025 } } })
  for (let i = 0; i < 3; i++) await publish(events, 1024, 'logs')
  await events.prune()
  assert.equal(await world.firstOf(1), 1920)
  assert.deepEqual(await events.redact(stream(1), [3071, 1919, 2000, 3072, 2000, 0]), {
    ...none,
    redacted: [2000, 3071],
    pruned: [0, 1919],
    unknown: [3072],
  })
  assert.deepEqual(await events.redact(stream(1), [1999, 2000, 2001, 3071]), {
    ...none,
    redacted: [1999, 2001],
    alreadyRedacted: [2000, 3071],
  })
  const left = (await world.events()).filter((event) => event.stream === 1).map(({ offset }) => offset)
  for (const offset of [1999, 2000, 2001, 3071]) assert.ok(!left.includes(offset))
  assert.equal(left.length, 3072 - 1920 - 4)
  assert.match(world.log.join(''), /redacted 2 events of the stream/)
})

test('events of many chunks are redacted', async () => {
  const world = new World()
  const events = await world.open({ routes })
  for (let i = 0; i < 12; i++) await publish(events, 1024, 'logs')
  const offsets = Array.from({ length: 12 * 4 }, (_, i) => i * 256)
  assert.deepEqual(await events.redact(stream(1), offsets), { ...none, redacted: offsets })
  assert.deepEqual(await events.redact(stream(1), offsets), { ...none, alreadyRedacted: offsets })
})

test('streams of other nodes are refused with the node that can do it; unknown ones have no events', async () => {
  const world = new World()
  const events = await world.open()
  const other = nodeIdOf(new KeyPair(Buffer.alloc(32, 9)).publicKey)
  await assert.rejects(events.redact(stream(0, other), [0]), {
    code: 'ERR_INVALID_INPUT',
    message: `The stream ${other}-0 is of the node ${other}: only that node can redact its events. This is the node ${nodeId}.`,
  })
  assert.deepEqual(await events.redact(stream(200), [0, 1]), { ...none, unknown: [0, 1] })
  assert.deepEqual(await events.redact(stream(2n ** 64n - 1n), [7]), { ...none, unknown: [7] })
})

test('facts of the node stay: names of streams', async () => {
  const world = new World()
  const events = await world.open({ routes })
  await publish(events, 2, 'other')
  const before = await world.events()
  const offsets = before.filter((event) => event.stream === 0).map(({ offset }) => offset)
  const facts = before.filter(({ tags }) => tags.includes('event_routing')).map(({ offset }) => offset)
  const done = await events.redact(stream(0), offsets)
  assert.ok(facts.length > 0)
  assert.deepEqual(done.facts, facts)
  assert.deepEqual(
    done.redacted,
    offsets.filter((offset) => !facts.includes(offset)),
  )
  assert.deepEqual((await world.events()).filter((event) => event.stream === 0).length, facts.length)
})
