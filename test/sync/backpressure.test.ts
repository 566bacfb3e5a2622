import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import type { Hash } from '../../src/protocol/index.ts'
import type { Message, TableRow } from '../../src/sync/index.ts'
import { chunkOf, claimOf, connectedTo, only, onlySent, rowOf, runUntil, sent } from './support.ts'

const other = 'o'.repeat(32) as Hash

test('while much waits to be sent to a peer, it is neither told news nor compared', () => {
  const sync = connectedTo('a', 'b')
  sync.changed(rowOf(99, 3))
  const records = { stream: rowOf(99, 3).key, prune: undefined, redactions: [Buffer.of(1)], next: undefined }
  const digest: Message = { is: 'digest', digest: Buffer.alloc(8), time: 1 }
  const buckets: Message = { is: 'buckets', digests: Buffer.alloc(256 * 8) }
  const heads: Message = { is: 'heads', entries: [], answer: [1] }
  const answers = (): number =>
    [digest, buckets, heads, { is: 'want-own' } as const].flatMap((message) => sync.received('a', message, 0)).length
  assert.equal(answers(), 4)
  sync.congested('a', true)
  assert.equal(answers(), 0)
  assert.deepEqual(
    sent(sync.removed(rowOf(99, 3), records), 'records').map(({ to }) => to),
    ['b'],
  )
  assert.equal(onlySent(sync.congested('a', false), 'digest').to, 'a')
  assert.equal(answers(), 4)
})

test('while answers wait to be sent to a peer, it is not compared, and gets new events', () => {
  const sync = connectedTo('a', 'b')
  sync.changed(rowOf(99, 3))
  const buckets: Message = { is: 'buckets', digests: Buffer.alloc(256 * 8) }
  const digest: Message = { is: 'digest', digest: Buffer.alloc(8), time: 1 }
  const heads: Message = { is: 'heads', entries: [], answer: [1] }
  const compared = (): number =>
    [digest, buckets, heads, { is: 'want-own' } as const].flatMap((message) => sync.received('a', message, 0)).length
  sync.syncCongested('a', true)
  assert.equal(compared(), 0)
  const records = { stream: rowOf(99, 3).key, prune: undefined, redactions: [Buffer.of(1)], next: undefined }
  assert.deepEqual(
    sent(sync.removed(rowOf(99, 3), records), 'records').map(({ to }) => to),
    ['b'],
  )
  assert.deepEqual(
    sent(sync.appended(rowOf(99, 4), 3, chunkOf(rowOf(99, 4), 3)), 'push').map(({ to }) => to),
    ['a', 'b'],
  )
  sync.congested('a', true)
  assert.deepEqual(sync.syncCongested('a', false), [])
  assert.equal(onlySent(sync.congested('a', false), 'digest').to, 'a')
  assert.equal(compared(), 4)
})

/** What a peer says of stream 1, of which this node has 5 events, and the request that follows. */
const requests: readonly [is: Message['is'], claimed: TableRow][] = [
  ['want', rowOf(1, 9)],
  ['want-records', { ...rowOf(1, 5), records: other }],
]

for (const [is, claimed] of requests)
  test(`a request '${is}' without an answer is given up, and another peer is asked`, () => {
    const sync = connectedTo('a', 'b')
    sync.changed(rowOf(1, 5))
    assert.equal(onlySent(sync.received('a', claimOf(claimed), 0), is).to, 'a')
    assert.deepEqual(sent(sync.received('b', claimOf(claimed), 0), is), [])
    assert.equal(sent(runUntil(sync, limits.wantTimeoutMs, 'b'), is)[0]?.to, 'b')
  })

test("a request 'want-evidence' without an answer is given up, and another peer is asked", () => {
  const sync = connectedTo('a', 'b')
  const claimed = claimOf({ ...rowOf(1, 5), frozen: true })
  const { id } = onlySent(sync.received('a', claimed, 0), 'want').message
  const effects = sync.received('a', { is: 'nothing', id, reason: 'notHere' }, 0)
  assert.equal(onlySent(effects, 'want-evidence').to, 'a')
  sync.received('b', claimed, 0)
  // It is asked for the events before the fork first.
  assert.equal(sent(runUntil(sync, limits.wantTimeoutMs, 'b'), 'want')[0]?.to, 'b')
})

test('a search for the fork of a stream without an answer is given up, and another peer is asked', () => {
  const sync = connectedTo('a', 'b')
  sync.changed({ ...rowOf(1, 5), hash: other })
  const { id, peer } = only(sync.received('a', claimOf(rowOf(1, 5)), 0), 'list-points')
  sync.received('b', claimOf(rowOf(1, 5)), 0)
  onlySent(sync.listedPoints(peer, id, [{ count: 5, hash: other }], 0), 'locate')
  assert.equal(only(runUntil(sync, limits.wantTimeoutMs, 'b'), 'list-points').peer, 'b')
})

test('a request is not given up while the input of its peer waits to be stored, but none is open for ever', () => {
  const sync = connectedTo('a', 'b')
  sync.received('a', claimOf(rowOf(1, 5)), 0)
  sync.received('b', claimOf(rowOf(1, 5)), 0)
  sync.inputWaits('a', true, 0)
  assert.deepEqual(sent(runUntil(sync, limits.longestWantMs - 1, 'b'), 'want'), [])
  assert.ok(
    sync.peers().some(({ name }) => name === 'a'),
    'a peer that is not read is not silent',
  )
  assert.equal(sent(runUntil(sync, limits.longestWantMs, 'b'), 'want').length, 1)
})

test('the time for an answer starts again when the input of a peer was stored, and with every part of a message', () => {
  for (const news of ['stored', 'heard'] as const) {
    const sync = connectedTo('a', 'b')
    for (const peer of ['a', 'b']) sync.received(peer, claimOf(rowOf(1, 5)), 0)
    const at = limits.wantTimeoutMs - 1
    if (news === 'heard') sync.bytesArrived('a', at)
    else for (const waits of [true, false]) sync.inputWaits('a', waits, at)
    assert.deepEqual(sent(runUntil(sync, at + limits.wantTimeoutMs - 1, 'b'), 'want'), [])
    assert.equal(sent(runUntil(sync, at + limits.wantTimeoutMs, 'b'), 'want')[0]?.to, 'b')
  }
})
