import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { tuning } from '../../src/base/tuning.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { type Hash, heads, shortHead } from '../../src/protocol/index.ts'
import type { StreamHead } from '../../src/replication/index.ts'
import { type Effect, type Message, Sync } from '../../src/sync/index.ts'

const topic = 'test'
const hash = 'h'.repeat(32) as Hash

function headOf(seed: number, count: number, number = 0): StreamHead {
  const key = new KeyPair(Buffer.alloc(32, seed))
  const stream = { node: key.publicKey, number }
  const head = heads.sign({ topic, stream, count, lamport: count, hash, checkpoint: false, time: 1 }, key)
  return { number: 0, own: false, key: stream, count, lamport: count, pruned: 0, hash, head }
}

function claimOf({ head }: StreamHead): Message {
  return { is: 'heads', entries: [{ pruned: 0, head: shortHead(head, topic) }], answer: [] }
}

function newSync(): Sync {
  return new Sync({ topic, gossipMs: 1000, random: () => 0.5, wallClock: () => 1 }, 0)
}

const hello: Message = { is: 'hello', version: 1, features: [], required: [], time: 1 }

/** A node with peers that have introduced themselves. */
function connectedTo(...peers: string[]): Sync {
  const sync = newSync()
  for (const peer of peers) {
    sync.connected(peer, 0)
    sync.received(peer, hello, 0)
  }
  return sync
}

function sent(effects: readonly Effect[], kind: Message['is']): { to: string; message: Message }[] {
  return effects.flatMap((effect) => (effect.do === 'send' && effect.message.is === kind ? [effect] : []))
}

function onlySent(effects: readonly Effect[], kind: Message['is']): { to: string; message: Message } {
  const found = sent(effects, kind)
  assert.equal(found.length, 1)
  return found[0] as { to: string; message: Message }
}

function closed(effects: readonly Effect[]): string[] {
  return effects.flatMap((effect) => (effect.do === 'close' ? [`${effect.peer}: ${effect.reason}`] : []))
}

test('a node greets a new peer, and sends its digest once the peer has introduced itself', () => {
  const sync = newSync()
  assert.deepEqual(sent(sync.connected('a', 0), 'hello').length, 1)
  assert.deepEqual(sent(sync.received('a', hello, 0), 'digest').length, 1)
})

test('a peer that needs an unknown feature, speaks before its hello, or stays silent is disconnected', () => {
  const sync = newSync()
  for (const peer of ['a', 'b', 'c']) sync.connected(peer, 0)
  assert.deepEqual(closed(sync.received('a', { ...hello, required: ['teleport'] }, 0)), ['a: unknownRequiredFeature'])
  assert.deepEqual(closed(sync.received('b', { is: 'nothing', id: 1 }, 0)), ['b: malformedMessage'])
  assert.equal(sync.wakeAt <= limits.helloTimeoutMs, true)
  assert.deepEqual(closed(sync.tick(limits.helloTimeoutMs)), ['c: silent'])
})

test('equal digests are not answered, others are compared by bucket', () => {
  const [a, b] = [connectedTo('b'), connectedTo('a')]
  for (const sync of [a, b]) sync.changed(headOf(1, 5))
  const digest = onlySent(a.tick(1000), 'digest')
  assert.deepEqual(b.received('a', digest.message, 0), [])
  b.changed(headOf(2, 7))
  const buckets = onlySent(b.received('a', digest.message, 0), 'buckets')
  const request = onlySent(a.received('b', buckets.message, 0), 'heads')
  const answer = onlySent(b.received('a', request.message, 0), 'heads')
  const want = onlySent(a.received('b', answer.message, 0), 'want')
  assert.equal(want.to, 'b')
  assert.deepEqual(want.message, { is: 'want', id: 1, stream: headOf(2, 7).key, from: 0 })
})

test('a head with a wrong signature is not followed', () => {
  const sync = connectedTo('a')
  const head = Uint8Array.from(headOf(1, 5).head)
  head[head.length - 1] = (head[head.length - 1] as number) ^ 1
  const effects = sync.received('a', claimOf({ ...headOf(1, 5), head }), 0)
  assert.deepEqual(closed(effects), ['a: badHead'])
  assert.deepEqual(sent(effects, 'want'), [])
})

test('a stream is asked for once, and from another peer when the first does not answer', () => {
  const sync = connectedTo('a', 'b')
  assert.equal(sent(sync.received('a', claimOf(headOf(1, 5)), 0), 'want')[0]?.to, 'a')
  assert.deepEqual(sent(sync.received('b', claimOf(headOf(1, 5)), 0), 'want'), [])
  assert.ok(sync.wakeAt <= limits.wantTimeoutMs)
  assert.equal(sent(sync.tick(limits.wantTimeoutMs), 'want')[0]?.to, 'b')
})

test('a stream is asked for again when the peer that was asked disconnects', () => {
  const sync = connectedTo('a', 'b')
  sync.received('a', claimOf(headOf(1, 5)), 0)
  sync.received('b', claimOf(headOf(1, 5)), 0)
  assert.equal(sent(sync.disconnected('a', 1), 'want')[0]?.to, 'b')
})

test('requests in flight per peer are limited, and the next one follows an answer', () => {
  const sync = connectedTo('a')
  const asked = Array.from({ length: 10 }, (_, i) => sync.received('a', claimOf(headOf(i + 1, 5)), 0))
  assert.equal(asked.flatMap((effects) => sent(effects, 'want')).length, tuning.wantsPerPeer)
  assert.equal(sent(sync.received('a', { is: 'nothing', id: 1 }, 1), 'want').length, 1)
})

test('a peer with too many requests is disconnected', () => {
  const sync = connectedTo('a')
  const want: Message = { is: 'want', id: 1, stream: headOf(1, 5).key, from: 0 }
  for (let i = 0; i < limits.servedPerPeer; i++) assert.equal(sync.received('a', want, 0)[0]?.do, 'read')
  assert.deepEqual(closed(sync.received('a', want, 0)), ['a: tooManyRequests'])
})

test('a chunk that the store refuses costs its sender the connection', () => {
  const sync = connectedTo('a')
  sync.received('a', claimOf(headOf(1, 5)), 0)
  const [store] = sync.received('a', { is: 'chunk', id: 1, chunk: Buffer.alloc(1) }, 0)
  assert.ok(store?.do === 'store')
  assert.deepEqual(closed(sync.stored(store, 'refused', undefined, 0)), ['a: badChunk'])
})

test('own events are pushed to every peer; of many only the head is sent', () => {
  const sync = connectedTo('a', 'b')
  const small = sync.appended(headOf(9, 1), Buffer.alloc(100))
  assert.deepEqual(
    sent(small, 'push').map(({ to }) => to),
    ['a', 'b'],
  )
  const large = sync.appended(headOf(9, 2), Buffer.alloc(tuning.pushBytes + 1))
  assert.equal(sent(large, 'push').length, 0)
  assert.equal(sent(large, 'heads').length, 2)
})

test('received events are forwarded only to peers that know neither the origin nor the sender', () => {
  const origin = headOf(7, 3)
  const originName = Buffer.from(origin.key.node).toString('latin1')
  const sync = connectedTo('sender', 'knows origin', 'knows sender', 'knows neither', originName)
  const key = (name: string): Buffer => Buffer.from(name, 'latin1')
  sync.received('knows origin', { is: 'neighbours', added: [key(originName)], removed: [] }, 0)
  sync.received('knows sender', { is: 'neighbours', added: [key('sender')], removed: [] }, 0)
  const chunk = Buffer.alloc(10)
  sync.stored({ do: 'store', from: 'sender', want: undefined, chunk }, 'stored', origin, 0)
  const forwarded = sent(sync.tick(tuning.forwardDelayMs), 'push')
  assert.deepEqual(
    forwarded.map(({ to }) => to),
    ['knows neither'],
  )
})
