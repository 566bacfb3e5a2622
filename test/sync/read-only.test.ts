import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import type { Message, Sync } from '../../src/sync/index.ts'
import { claimOf, connectedTo, only, onlySent, rowOf, sent } from './support.ts'

const everything: Message = { is: 'buckets', digests: Buffer.alloc(format.digestBuckets * format.digestBytes) }

function readOnly(...peers: string[]): Sync {
  const sync = connectedTo(...peers)
  assert.deepEqual(sync.setReadOnly(true), [])
  sync.changed(rowOf(99, 5))
  return sync
}

/** The number of streams that a node tells a peer about that has nothing. */
function told(sync: Sync): number {
  return onlySent(sync.received('a', everything, 0), 'heads').message.entries.length
}

test('a read-only node tells others nothing of its own streams', () => {
  const sync = readOnly('a')
  const empty = onlySent(connectedTo('a').tick(1000), 'digest').message.digest
  assert.deepEqual(onlySent(sync.tick(1000), 'digest').message.digest, empty)
  assert.deepEqual(sync.appended(rowOf(99, 6), 5, Buffer.alloc(10)), [])
  const stream = rowOf(99, 6).key
  assert.deepEqual(sync.removed(rowOf(99, 6), { stream, prune: undefined, redactions: [], next: undefined }), [])
  assert.equal(told(sync), 0)
})

test('a read-only node has nothing of its own streams for peers that ask', () => {
  const sync = readOnly('a')
  const asked = { id: 7, stream: rowOf(99, 5).key }
  const requests: Message[] = [
    { is: 'want', ...asked, from: 0, bytes: 1 },
    { is: 'want-records', ...asked, from: 0, to: 5 },
    { is: 'want-evidence', ...asked },
    { is: 'locate', ...asked, points: [] },
  ]
  for (const request of requests)
    assert.deepEqual(onlySent(sync.received('a', request, 0), 'nothing').message, {
      is: 'nothing',
      id: 7,
      reason: 'notHere',
    })
})

test('a read-only node receives and serves the streams of others', () => {
  const sync = readOnly('a')
  assert.equal(onlySent(sync.received('a', claimOf(rowOf(1, 5)), 0), 'want').message.from, 0)
  sync.changed(rowOf(2, 5))
  assert.equal(told(sync), 1)
  assert.equal(
    only(sync.received('a', { is: 'want', id: 1, stream: rowOf(2, 5).key, from: 0, bytes: 1 }, 0), 'read').id,
    1,
  )
})

test('a node that is not read-only any more tells all peers of its own streams', () => {
  const sync = readOnly('a', 'b')
  sync.changed(rowOf(2, 5))
  assert.equal(sent(sync.setReadOnly(false), 'heads').length, 2)
  assert.deepEqual(sync.setReadOnly(false), [])
  assert.equal(told(sync), 2)
  assert.equal(sent(sync.appended(rowOf(99, 6), 5, Buffer.alloc(10)), 'push').length, 2)
})
