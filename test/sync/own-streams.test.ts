import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import type { Message } from '../../src/sync/index.ts'
import { claimOf, connect, connectedTo, hello, newSync, only, onlySent, rowOf, runUntil, sent } from './support.ts'

/** What a peer has of an own stream, in the answer to `want-own`. */
function ownHeads(count: number): Message {
  const { entries } = claimOf(rowOf(99, count)) as Extract<Message, { is: 'heads' }>
  return { is: 'own-heads', entries }
}

test('after a doubtful start a node asks every peer for its own streams, until it is sure', () => {
  let isInDoubt = true
  const sync = newSync(() => isInDoubt)
  sync.connected('a', 0)
  assert.equal(sent(sync.received('a', hello, 0), 'want-own').length, 1)
  assert.equal(sent(sync.tick(1000), 'want-own').length, 1)
  isInDoubt = false
  assert.equal(sent(sync.tick(3000), 'want-own').length, 0)
  assert.equal(sent(connectedTo('a').tick(1000), 'want-own').length, 0)
})

test('a peer answers with the heads of all streams of the one that asks', () => {
  const row = rowOf(1, 5)
  const name = Buffer.from(row.key.node).toString('latin1')
  const sync = connectedTo(name)
  for (const known of [row, rowOf(1, 3, 2), rowOf(2, 9)]) sync.changed(known)
  const { message } = onlySent(sync.received(name, { is: 'want-own' }, 0), 'own-heads')
  assert.equal(message.entries.length, 2)
})

test('own events that a peer has are compared, and asked for, while the node is in doubt', () => {
  let isInDoubt = true
  const sync = connect(
    newSync(() => isInDoubt),
    'a',
  )
  sync.changed(rowOf(99, 2))
  const effects = sync.received('a', ownHeads(5), 0)
  assert.equal(only(effects, 'compare-own').heads.length, 1)
  assert.equal(onlySent(effects, 'want').message.from, 2)
  isInDoubt = false
  assert.deepEqual(sync.received('a', ownHeads(5), 0), [])
})

test('without a doubt a longer chain of an own stream is compared on its own, and asked for', () => {
  const sync = connectedTo('a', 'b')
  sync.changed(rowOf(99, 2))
  for (const [peer, message] of [
    ['a', claimOf(rowOf(99, 5))],
    ['b', ownHeads(6)],
  ] as const) {
    const effects = sync.received(peer, message, 0)
    const { from, areAll, heads } = only(effects, 'compare-own')
    assert.deepEqual([from, areAll, heads.length], [peer, false, 1])
    assert.equal(sent(effects, 'want').length, peer === 'a' ? 1 : 0, 'one peer is asked at a time')
  }
  assert.deepEqual(sync.received('a', claimOf(rowOf(99, 2)), 0), [], 'nothing is missing')
})

test('a longer chain of an own stream that is frozen is neither compared nor asked for', () => {
  const sync = connectedTo('a')
  sync.changed({ ...rowOf(99, 2), frozen: true })
  assert.deepEqual(sync.received('a', claimOf(rowOf(99, 5)), 0), [])
})

test('own events that cannot be adopted cost no peer its connection, and are asked for again later', () => {
  const sync = connectedTo('a')
  const { id } = onlySent(sync.received('a', claimOf(rowOf(99, 5)), 0), 'want').message
  const store = only(sync.received('a', { is: 'chunk', id, more: false, chunk: Buffer.alloc(1) }, 0), 'store')
  assert.deepEqual(sync.stored(store, 'invalid', undefined, 0), [])
  assert.equal(sync.peers().length, 1)
  assert.equal(sent(runUntil(sync, limits.unstorableRetryMs - 1, 'a'), 'want').length, 0)
  assert.equal(sent(runUntil(sync, limits.unstorableRetryMs, 'a'), 'want').length, 1)
})
