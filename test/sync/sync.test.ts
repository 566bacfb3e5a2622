import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { tuning } from '../../src/base/tuning.ts'
import { encodeChunk } from '../../src/protocol/index.ts'
import type { Effect, Message, TableRow } from '../../src/sync/index.ts'
import {
  chunkOf,
  claimOf,
  closed,
  connectedTo,
  hello,
  newSync,
  only,
  onlySent,
  rowOf,
  runUntil,
  sent,
} from './support.ts'

test('a node greets a new peer, and sends its digest once the peer has introduced itself', () => {
  const sync = newSync()
  assert.deepEqual(sent(sync.connected('a', 0), 'hello').length, 1)
  assert.deepEqual(sent(sync.received('a', hello, 0), 'digest').length, 1)
})

test('a peer that needs an unknown feature, speaks before its hello, or stays silent is disconnected', () => {
  const sync = newSync()
  for (const peer of ['a', 'b', 'c']) sync.connected(peer, 0)
  const effects = sync.received('a', { ...hello, required: ['teleport'] }, 0)
  assert.deepEqual(closed(effects), ['a: unknownRequiredFeature'])
  assert.deepEqual(effects[0], { do: 'report', is: 'unknown-features', features: ['teleport'], peer: 'a' })
  assert.deepEqual(closed(sync.received('b', { is: 'nothing', id: 1, reason: 'notHere' }, 0)), ['b: malformedMessage'])
  assert.equal(sync.wakeAt <= limits.helloTimeoutMs, true)
  assert.deepEqual(closed(runUntil(sync, limits.helloTimeoutMs)), ['c: silent'])
})

test('equal digests are not answered, others are compared by bucket', () => {
  const [a, b] = [connectedTo('b'), connectedTo('a')]
  for (const sync of [a, b]) sync.changed(rowOf(1, 5))
  const digest = onlySent(a.tick(1000), 'digest')
  assert.deepEqual(b.received('a', digest.message, 0), [])
  b.changed(rowOf(2, 7))
  const buckets = onlySent(b.received('a', digest.message, 0), 'buckets')
  const request = onlySent(a.received('b', buckets.message, 0), 'heads')
  const answer = onlySent(b.received('a', request.message, 0), 'heads')
  const want = onlySent(a.received('b', answer.message, 0), 'want')
  assert.equal(want.to, 'b')
  assert.deepEqual(want.message, {
    is: 'want',
    id: 1,
    stream: rowOf(2, 7).key,
    from: 0,
    bytes: tuning.wantBytes,
  })
})

test('a head with a wrong signature is not followed', () => {
  const sync = connectedTo('a')
  const head = Uint8Array.from(rowOf(1, 5).head as Uint8Array)
  head[head.length - 1] = (head[head.length - 1] as number) ^ 1
  const effects = sync.received('a', claimOf({ ...rowOf(1, 5), head }), 0)
  assert.deepEqual(closed(effects), ['a: badHead'])
  assert.deepEqual(sent(effects, 'want'), [])
})

test('a stream is asked for once, and from another peer when the first does not answer', () => {
  const sync = connectedTo('a', 'b')
  assert.equal(sent(sync.received('a', claimOf(rowOf(1, 5)), 0), 'want')[0]?.to, 'a')
  assert.deepEqual(sent(sync.received('b', claimOf(rowOf(1, 5)), 0), 'want'), [])
  assert.ok(sync.wakeAt <= limits.wantTimeoutMs)
  assert.equal(sent(runUntil(sync, limits.wantTimeoutMs), 'want')[0]?.to, 'b')
})

test('a stream is asked for again when the peer that was asked disconnects', () => {
  const sync = connectedTo('a', 'b')
  sync.received('a', claimOf(rowOf(1, 5)), 0)
  sync.received('b', claimOf(rowOf(1, 5)), 0)
  assert.equal(sent(sync.disconnected('a', 1), 'want')[0]?.to, 'b')
})

test('requests in flight per peer are limited, and the next one follows an answer', () => {
  const sync = connectedTo('a')
  const asked = Array.from({ length: 10 }, (_, i) => sync.received('a', claimOf(rowOf(i + 1, 5)), 0))
  assert.equal(asked.flatMap((effects) => sent(effects, 'want')).length, tuning.wantsPerPeer)
  assert.equal(sent(sync.received('a', { is: 'nothing', id: 1, reason: 'notHere' }, 1), 'want').length, 1)
})

/** A request with an ID of its own. */
const wantOf = (id: number): Message => ({ is: 'want', id, stream: rowOf(1, 5).key, from: 0, bytes: 1 })

test('requests beyond the limit get nothing, and a peer that goes on is disconnected', () => {
  const sync = connectedTo('a')
  const { servedPerPeer, excessRequests } = limits
  for (let i = 1; i <= servedPerPeer; i++) assert.equal(sync.received('a', wantOf(i), 0)[0]?.do, 'read')
  for (let i = 1; i <= excessRequests; i++)
    assert.deepEqual(onlySent(sync.received('a', wantOf(100 + i), 0), 'nothing').message, {
      is: 'nothing',
      id: 100 + i,
      reason: 'notHere',
    })
  assert.deepEqual(closed(sync.received('a', wantOf(1000), 0)), ['a: tooManyRequests'])
})

test('a peer that repeats a request without end is disconnected', () => {
  const sync = connectedTo('a')
  const repeat = (id: number): string[] => {
    const asked = sync.received('a', wantOf(id), 0)
    sync.superseded('a', id)
    return closed(asked)
  }
  for (let i = 1; i <= limits.excessRequests; i++) assert.deepEqual(repeat(i), [])
  assert.deepEqual(repeat(1000), ['a: tooManyRequests'])
  assert.deepEqual(sync.superseded('a', 1000), [])
})

test('a peer whose requests are answered may repeat some of them again and again', () => {
  const sync = connectedTo('a')
  for (let round = 0; round < 5; round++) {
    for (let i = 1; i < limits.excessRequests; i++) {
      assert.deepEqual(closed(sync.received('a', wantOf(i), 0)), [])
      sync.superseded('a', i)
    }
    assert.deepEqual(closed(sync.received('a', wantOf(100), 0)), [])
    onlySent(sync.read('a', 100, { nothing: 'notHere' }), 'nothing')
  }
})

test('a chunk that the store refuses costs its sender the connection', () => {
  const sync = connectedTo('a')
  sync.received('a', claimOf(rowOf(1, 5)), 0)
  const [store] = sync.received('a', { is: 'chunk', id: 1, more: false, chunk: Buffer.alloc(1) }, 0)
  assert.ok(store?.do === 'store')
  assert.deepEqual(closed(sync.stored(store, 'invalid', undefined, 0)), ['a: badChunk'])
})

test('own events are pushed to every peer; of many only the head is sent', () => {
  const sync = connectedTo('a', 'b')
  const small = sync.appended(rowOf(9, 1), 0, Buffer.alloc(100))
  assert.deepEqual(
    sent(small, 'push').map(({ to }) => to),
    ['a', 'b'],
  )
  const large = sync.appended(rowOf(9, 2), 1, Buffer.alloc(tuning.pushBytes + 1))
  assert.equal(sent(large, 'push').length, 0)
  assert.equal(sent(large, 'heads').length, 2)
})

test('many events are pushed to peers that have those before them, and take compressed pushes', () => {
  const own = (count: number): TableRow => rowOf(99, count)
  const bulk = Buffer.alloc(tuning.pushBytes + 1)
  const sync = newSync()
  const features = ['bulk-push']
  for (const peer of ['old', 'has all', 'lacks some']) sync.connected(peer, 0)
  sync.received('old', hello, 0)
  for (const peer of ['has all', 'lacks some']) sync.received(peer, { ...hello, features }, 0)
  for (const peer of ['old', 'has all']) sync.received(peer, claimOf(own(5)), 0)
  sync.changed(own(5))
  const append = (count: number, chunk: Buffer | undefined): (string | undefined)[] => {
    const effects = sync.appended(own(count), count - 1, chunk)
    const of = (name: string): Message | undefined =>
      effects.flatMap((effect) => (effect.do === 'send' && effect.to === name ? [effect.message] : []))[0]
    return ['old', 'has all', 'lacks some'].map((name) => of(name)?.is)
  }
  assert.deepEqual(append(6, bulk), ['heads', 'bulk-push', 'heads'])
  assert.deepEqual(append(7, bulk), ['heads', 'bulk-push', 'heads'], 'the one before was sent')
  assert.deepEqual(append(8, Buffer.alloc(10)), ['push', 'push', 'push'])
  assert.deepEqual(append(9, bulk), ['heads', 'bulk-push', 'heads'])
  assert.deepEqual(append(10, Buffer.alloc(tuning.bulkPushBytes + 1)), ['heads', 'heads', 'heads'])
  assert.deepEqual(append(11, bulk), ['heads', 'heads', 'heads'], 'the one before was not sent')
  sync.received('has all', { is: 'want', id: 1, stream: own(11).key, from: 9, bytes: 1000 }, 0)
  sync.read('has all', 1, { chunks: [{ records: [], chunk: chunkOf(own(11), 9) }] })
  assert.deepEqual(append(12, bulk), ['heads', 'bulk-push', 'heads'], 'the answer was sent')
  sync.received('has all', { is: 'want', id: 2, stream: own(12).key, from: 11, bytes: 1000 }, 0)
  assert.deepEqual(append(13, bulk), ['heads', 'heads', 'heads'], 'it did not get the last one')
  sync.received('lacks some', { is: 'stored', streams: [{ number: 0, count: 13 }] }, 0)
  assert.deepEqual(append(14, bulk), ['heads', 'heads', 'bulk-push'], 'it has caught up')
  assert.deepEqual(append(15, undefined), ['heads', 'heads', 'heads'])
})

test('a peer is not asked for a stream while its pushes are being stored, and at once when something is left', () => {
  const sync = connectedTo('a')
  const [first, second] = [rowOf(1, 3), rowOf(1, 5)]
  const push = (row: TableRow, from: number): Effect[] =>
    sync.received('a', { is: 'bulk-push', chunk: chunkOf(row, from) }, 0)
  const stores = [...push(first, 0), ...push(second, 3)].filter((effect) => effect.do === 'store')
  assert.deepEqual(sent(sync.received('a', claimOf(rowOf(1, 9)), 0), 'want'), [])
  assert.deepEqual(sent(sync.stored(stores[0] as never, 'stored', first, 1), 'want'), [])
  assert.equal(onlySent(sync.stored(stores[1] as never, 'stored', second, 2), 'want').message.from, 5)
})

test('of chunks that were stored together only the head is forwarded', () => {
  const sync = connectedTo('sender', 'other')
  const row = rowOf(7, 4)
  const store = { do: 'store', from: 'sender', want: undefined, more: false } as const
  sync.stored({ ...store, chunk: chunkOf(rowOf(7, 2), 0) }, 'stored', row, 0)
  sync.stored({ ...store, chunk: chunkOf(row, 2) }, 'stored', row, 0)
  const effects = sync.tick(tuning.forwardDelayMs)
  assert.deepEqual(sent(effects, 'push'), [])
  assert.equal(sent(effects, 'heads')[0]?.to, 'other')
})

test('received events are forwarded only to peers that know neither the origin nor the sender', () => {
  const origin = rowOf(7, 3)
  const originName = Buffer.from(origin.key.node).toString('latin1')
  const sync = connectedTo('sender', 'knows origin', 'knows sender', 'knows neither', originName)
  const key = (name: string): Buffer => Buffer.from(name, 'latin1')
  sync.received('knows origin', { is: 'neighbours', added: [key(originName)], removed: [] }, 0)
  sync.received('knows sender', { is: 'neighbours', added: [key('sender')], removed: [] }, 0)
  const chunk = chunkOf(origin)
  sync.stored({ do: 'store', from: 'sender', want: undefined, more: false, chunk }, 'stored', origin, 0)
  const forwarded = sent(sync.tick(tuning.forwardDelayMs), 'push')
  assert.deepEqual(
    forwarded.map(({ to }) => to),
    ['knows neither'],
  )
})

test('nothing is forwarded to a peer before it has told its neighbours, which are the first thing it is told', () => {
  const sync = connectedTo('sender')
  sync.connected('new', 0)
  const effects = sync.received('new', hello, 0)
  assert.deepEqual(
    effects.map((effect) => effect.do === 'send' && effect.message.is),
    ['neighbours', 'digest'],
  )
  assert.deepEqual(onlySent(effects, 'neighbours').message.added, [Buffer.from('sender')])
  const stored = (row: TableRow, first: number): Effect[] => {
    const store = { do: 'store', from: 'sender', want: undefined, more: false } as const
    sync.stored({ ...store, chunk: chunkOf(row, first) }, 'stored', row, 0)
    return sent(sync.tick(tuning.forwardDelayMs), 'push').map(({ to, message }) => ({ do: 'send', to, message }))
  }
  assert.equal(stored(rowOf(7, 3), 0).length, 0)
  sync.received('new', { is: 'neighbours', added: [], removed: [] }, 0)
  assert.equal(stored(rowOf(7, 4), 3).length, 1)
})

test('a wrong signature of a head is found for every peer that sends it', () => {
  const sync = connectedTo('a', 'b')
  const head = Uint8Array.from(rowOf(1, 5).head as Uint8Array)
  head[head.length - 1] = (head[head.length - 1] as number) ^ 1
  for (const peer of ['a', 'b'])
    assert.deepEqual(closed(sync.received(peer, claimOf({ ...rowOf(1, 5), head }), 0)), [`${peer}: badHead`])
})

test('of a chunk that starts with known events only the head is forwarded, since the others alone are verified', () => {
  const sync = connectedTo('sender', 'other')
  sync.changed(rowOf(7, 2))
  const row = rowOf(7, 3)
  const store = { do: 'store', from: 'sender', want: undefined, more: false } as const
  sync.stored({ ...store, chunk: chunkOf(row, 1) }, 'stored', row, 0)
  const effects = sync.tick(tuning.forwardDelayMs)
  assert.deepEqual(sent(effects, 'push'), [])
  assert.equal(onlySent(effects, 'heads').to, 'other')
})

test('new events are left out for a congested peer, which is compared as soon as it is not', () => {
  const sync = connectedTo('a', 'b')
  sync.congested('a', true)
  assert.deepEqual(
    sent(sync.appended(rowOf(99, 1), 0, Buffer.alloc(100)), 'push').map(({ to }) => to),
    ['b'],
  )
  assert.deepEqual(sync.congested('b', false), [])
  assert.equal(onlySent(sync.congested('a', false), 'digest').to, 'a')
  assert.deepEqual(sync.congested('a', true), [])
  assert.deepEqual(sync.congested('a', false), [], 'nothing was left out')
  assert.equal(sent(sync.appended(rowOf(99, 2), 1, Buffer.alloc(100)), 'push').length, 2)
})

test('round trips and clocks of peers are measured', () => {
  const sync = connectedTo('a')
  const { message } = onlySent(sync.tick(1000), 'ping')
  sync.received('a', { is: 'pong', id: message.id }, 1007)
  sync.received('a', { is: 'digest', digest: Buffer.alloc(8), time: 501 }, 1008)
  const [peer] = sync.peers()
  assert.deepEqual([peer?.roundTripMs, peer?.clockAhead], [7, 500])
})

test('the node of a stream is told what is stored of it, once for several events', () => {
  const row = rowOf(7, 3)
  const origin = Buffer.from(row.key.node).toString('latin1')
  const sync = connectedTo(origin)
  const store = { do: 'store', from: origin, want: undefined, more: false, chunk: chunkOf(row) } as const
  sync.stored(store, 'stored', row, 0)
  sync.stored(store, 'stored', rowOf(7, 4), 1)
  assert.ok(sync.wakeAt <= tuning.reportStoredMs)
  const { message, to } = onlySent(sync.tick(tuning.reportStoredMs), 'stored')
  assert.deepEqual([to, message.streams], [origin, [{ number: 0, count: 4 }]])
  assert.deepEqual(sent(sync.tick(tuning.reportStoredMs + 1), 'stored'), [])
})

test('what a peer has stored of own streams is known from its heads and its reports', () => {
  const sync = connectedTo('a')
  sync.changed(rowOf(99, 9))
  sync.received('a', claimOf(rowOf(99, 5)), 0)
  assert.deepEqual([...(sync.peers()[0]?.stored ?? [])], [[0, 5]])
  sync.received('a', { is: 'stored', streams: [{ number: 0, count: 8 }] }, 0)
  assert.deepEqual([...(sync.peers()[0]?.stored ?? [])], [[0, 8]])
})

test('a peer with more of an own stream is reported and asked once, and not for a head with a wrong signature', () => {
  const sync = connectedTo('a')
  sync.changed(rowOf(99, 2))
  assert.equal(only(sync.received('a', claimOf(rowOf(99, 5)), 0), 'report').is, 'own-stream-ahead')
  assert.deepEqual(sync.received('a', claimOf(rowOf(99, 5)), 1), [])
  const head = Uint8Array.from(rowOf(99, 6).head as Uint8Array)
  head[head.length - 1] = (head[head.length - 1] as number) ^ 1
  const effects = sync.received('a', claimOf({ ...rowOf(99, 6), head }), 2)
  assert.deepEqual(
    effects.map((effect) => effect.do),
    ['close'],
  )
})

test('several chunks answer a request, which stays open until the last one is stored', () => {
  const sync = connectedTo('a')
  const { id } = onlySent(sync.received('a', claimOf(rowOf(1, 50)), 0), 'want').message
  const chunk = (more: boolean): Message => ({ is: 'chunk', id, more, chunk: Buffer.alloc(1) })
  for (const [more, count] of [
    [true, 20],
    [true, 40],
    [false, 50],
  ] as const) {
    const [store] = sync.received('a', chunk(more), count)
    assert.ok(store?.do === 'store')
    assert.deepEqual(sent(sync.stored(store, 'stored', rowOf(1, count), count), 'want'), [])
  }
  assert.deepEqual(sync.received('a', chunk(false), 60), [], 'the request is closed')
})

test('pushed events are not asked for while they are stored, and at once when there is a gap before them', () => {
  const sync = connectedTo('a')
  const chunk = encodeChunk([], rowOf(1, 5).head as Uint8Array)
  const store = only(sync.received('a', { is: 'push', chunk }, 0), 'store')
  assert.ok(sync.wakeAt > 0)
  assert.deepEqual(sent(sync.tick(1), 'want'), [])
  assert.equal(onlySent(sync.stored(store, 'gap', rowOf(1, 2), 2), 'want').message.from, 2)
})

test('a request ends with a chunk that adds nothing, and its peer with one of another stream', () => {
  const sync = connectedTo('a', 'b')
  const { id } = onlySent(sync.received('a', claimOf(rowOf(1, 50)), 0), 'want').message
  sync.received('b', claimOf(rowOf(1, 50)), 0)
  const chunk: Message = { is: 'chunk', id, more: true, chunk: Buffer.alloc(1) }
  const store = only(sync.received('a', chunk, 1), 'store')
  const { to, message } = onlySent(sync.stored(store, 'known', rowOf(1, 20), 1), 'want')
  assert.deepEqual([to, message.from], ['b', 20])
  const wrong = only(sync.received('b', { ...chunk, id: message.id }, 2), 'store')
  assert.deepEqual(closed(sync.stored(wrong, 'stored', rowOf(2, 3), 2)), ['b: badChunk'])
})

test('without room for a stream a peer is left alone for a while', () => {
  const sync = connectedTo('a')
  const { id } = onlySent(sync.received('a', claimOf(rowOf(1, 5)), 0), 'want').message
  const store = only(sync.received('a', { is: 'chunk', id, more: false, chunk: Buffer.alloc(1) }, 0), 'store')
  assert.deepEqual(sync.stored(store, 'noRoom', undefined, 0), [])
  assert.deepEqual(sent(runUntil(sync, limits.unstorableRetryMs - 1, 'a'), 'want'), [])
  assert.equal(sent(runUntil(sync, limits.unstorableRetryMs, 'a'), 'want').length, 1)
})

test('while a peer answers, its other requests do not time out, but none is open for ever', () => {
  const sync = connectedTo('a')
  const first = onlySent(sync.received('a', claimOf(rowOf(1, 5)), 0), 'want').message
  sync.received('a', claimOf(rowOf(2, 5)), 0)
  const chunk: Message = { is: 'chunk', id: first.id, more: true, chunk: Buffer.alloc(1) }
  const step = limits.wantTimeoutMs - 1
  for (let now = step; now < limits.longestWantMs; now += step) {
    assert.deepEqual(sent(runUntil(sync, now - 1, 'a'), 'want'), [])
    sync.received('a', chunk, now)
  }
  assert.equal(sent(runUntil(sync, limits.longestWantMs + limits.wantRetryMs, 'a'), 'want').length, 2)
})

test('what cannot be read is answered, so that the peer may ask on', () => {
  const sync = connectedTo('a')
  for (let i = 1; i <= 2 * limits.servedPerPeer; i++) {
    assert.equal(
      sync.received('a', { is: 'want', id: i, stream: rowOf(1, 5).key, from: 0, bytes: 1 }, 0)[0]?.do,
      'read',
    )
    assert.deepEqual(onlySent(sync.cannotAnswer('a', i), 'nothing').message, {
      is: 'nothing',
      id: i,
      reason: 'notHere',
    })
  }
})

test('a stream that was forgotten is fetched again, whatever was asked about it', () => {
  const sync = connectedTo('a')
  const before = newSync()
  sync.changed(rowOf(1, 5))
  sync.received('a', claimOf(rowOf(1, 5)), 0)
  const { id } = onlySent(sync.received('a', claimOf(rowOf(1, 7)), 0), 'want').message
  const want = onlySent(sync.forgot(rowOf(1, 5).key, undefined, 1), 'want').message
  assert.equal(want.from, 0)
  assert.notEqual(want.id, id)
  assert.deepEqual(
    onlySent(sync.tick(2000), 'digest').message.digest,
    onlySent(before.connected('a', 0) && before.received('a', hello, 0), 'digest').message.digest,
  )
  // An answer to the request of before is not taken for one.
  assert.deepEqual(sync.received('a', { is: 'nothing', id, reason: 'notHere' }, 2000), [])
})
