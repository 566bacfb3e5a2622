import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { tuning } from '../../src/base/tuning.ts'
import type { Hash } from '../../src/protocol/index.ts'
import type { Message, Records } from '../../src/sync/index.ts'
import { chunkOf, claimOf, closed, connectedTo, only, onlySent, rowOf, runUntil, sent } from './support.ts'

const row = rowOf(1, 10)
const changed = { ...row, records: 'x'.repeat(32) as Hash }
const redactions: Records = { stream: row.key, prune: undefined, redactions: [Buffer.of(1, 2)], next: undefined }

function recordsMessage(id: number, records: Records = redactions): Message {
  return { is: 'records', id, ...records }
}

test('records that differ are asked for, applied, and passed on', () => {
  const sync = connectedTo('a', 'b')
  sync.changed(row)
  const want = onlySent(sync.received('a', claimOf(changed), 0), 'want-records')
  assert.deepEqual([want.to, want.message.from, want.message.to], ['a', 0, 10])
  const apply = only(sync.received('a', recordsMessage(want.message.id), 0), 'apply-records')
  const effects = sync.appliedRecords(apply, 'applied', changed, 0)
  assert.deepEqual(
    sent(effects, 'records').map(({ to }) => to),
    ['b'],
  )
  assert.deepEqual(sent(sync.received('a', claimOf(changed), 1), 'want-records'), [])
})

test('records without an effect here are not asked for again', () => {
  const sync = connectedTo('a')
  sync.changed(row)
  const { id } = onlySent(sync.received('a', claimOf(changed), 0), 'want-records').message
  const apply = only(sync.received('a', recordsMessage(id), 0), 'apply-records')
  assert.deepEqual(sync.appliedRecords(apply, 'unchanged', row, 0), [])
  assert.deepEqual(sent(sync.received('a', claimOf(changed), 1), 'want-records'), [])
  const later = { ...changed, records: 'y'.repeat(32) as Hash }
  assert.equal(sent(sync.received('a', claimOf(later), 2), 'want-records').length, 1)
})

test('the rest of many records is asked for', () => {
  const sync = connectedTo('a')
  sync.changed(row)
  const { id } = onlySent(sync.received('a', claimOf(changed), 0), 'want-records').message
  const apply = only(sync.received('a', recordsMessage(id, { ...redactions, next: 7 }), 0), 'apply-records')
  const { message } = onlySent(sync.appliedRecords(apply, 'applied', row, 0), 'want-records')
  assert.deepEqual([message.from, message.to], [7, 10])
})

test('a bad record costs its sender the connection', () => {
  const sync = connectedTo('a')
  const apply = only(sync.received('a', recordsMessage(0), 0), 'apply-records')
  assert.deepEqual(closed(sync.appliedRecords(apply, 'invalid', undefined, 0)), ['a: badRecord'])
})

test('records that were not asked for are ignored unless they are news', () => {
  const sync = connectedTo('a')
  assert.deepEqual(sync.received('a', recordsMessage(77), 0), [])
  assert.equal(sync.received('a', recordsMessage(0), 0).length, 1)
})

test('of a pruned stream the prune record is asked for, and then the events after it', () => {
  const sync = connectedTo('a')
  const pruned = { ...rowOf(1, 30), pruned: 20 }
  const want = onlySent(sync.received('a', claimOf(pruned), 0), 'want-records')
  assert.deepEqual([want.message.from, want.message.to], [0, 0])
  const prune = { record: Buffer.of(1), head: Buffer.of(2) }
  const message = recordsMessage(want.message.id, { ...redactions, redactions: [], prune })
  const apply = only(sync.received('a', message, 0), 'apply-records')
  const started = { ...rowOf(1, 20), pruned: 20 }
  assert.equal(onlySent(sync.appliedRecords(apply, 'applied', started, 0), 'want').message.from, 20)
})

test('records that were asked for before the events were here are asked for again, if they differ', () => {
  const sync = connectedTo('a')
  const all = { ...rowOf(1, 30), pruned: 20 }
  const want = onlySent(sync.received('a', claimOf({ ...all, records: 'x'.repeat(32) as Hash }), 0), 'want-records')
  const prune = { record: Buffer.of(1), head: Buffer.of(2) }
  const message = recordsMessage(want.message.id, { ...redactions, redactions: [], prune })
  const apply = only(sync.received('a', message, 0), 'apply-records')
  const { id } = onlySent(sync.appliedRecords(apply, 'applied', { ...rowOf(1, 20), pruned: 20 }, 0), 'want').message
  const store = only(sync.received('a', { is: 'chunk', id, more: false, chunk: Buffer.alloc(1) }, 1), 'store')
  const again = onlySent(sync.stored(store, 'stored', all, 1), 'want-records')
  assert.deepEqual([again.message.from, again.message.to], [20, 30])
  const noEffect = only(sync.received('a', recordsMessage(again.message.id), 2), 'apply-records')
  assert.deepEqual(sent(sync.appliedRecords(noEffect, 'unchanged', all, 2), 'want-records'), [])
})

test('a prune record that was missing in the answer is asked for again after a while', () => {
  const sync = connectedTo('a')
  const all = rowOf(1, 30)
  sync.changed(all)
  const { id } = onlySent(sync.received('a', claimOf({ ...all, pruned: 20 }), 0), 'want-records').message
  const apply = only(sync.received('a', recordsMessage(id, { ...redactions, redactions: [] }), 0), 'apply-records')
  assert.deepEqual(sent(sync.appliedRecords(apply, 'unchanged', all, 0), 'want-records'), [])
  const again = sent(runUntil(sync, limits.unstorableRetryMs, 'a'), 'want-records')
  assert.equal(again.length, 1)
})

test('a prune record beyond the events here that was missing in the answer is asked for again after a while', () => {
  for (const here of [undefined, { ...rowOf(1, 11), pruned: 1 }]) {
    const sync = connectedTo('a')
    if (here !== undefined) sync.changed(here)
    const pruned = { ...rowOf(1, 14), pruned: 14 }
    const { id } = onlySent(sync.received('a', claimOf(pruned), 0), 'want-records').message
    const apply = only(sync.received('a', recordsMessage(id, { ...redactions, redactions: [] }), 0), 'apply-records')
    assert.deepEqual(sync.appliedRecords(apply, 'unchanged', here, 0), [])
    const again = sent(runUntil(sync, limits.unstorableRetryMs, 'a'), 'want-records')
    assert.equal(again.length, 1)
  }
})

test('records of a stream that a peer does not have at the moment are asked for again', () => {
  const sync = connectedTo('a')
  sync.changed(row)
  const { id } = onlySent(sync.received('a', claimOf(changed), 0), 'want-records').message
  assert.deepEqual(sync.received('a', { is: 'nothing', id, reason: 'notHere' }, 0), [])
  assert.equal(sent(runUntil(sync, limits.wantRetryMs, 'a'), 'want-records').length, 1)
})

test('a request for records of a stream that is not here is answered with nothing', () => {
  const sync = connectedTo('a')
  sync.received('a', { is: 'want-records', id: 5, stream: row.key, from: 0, to: 10 }, 0)
  const { message } = onlySent(sync.readRecords('a', 5, undefined), 'nothing')
  assert.deepEqual(message, { is: 'nothing', id: 5, reason: 'notHere' })
})

test('own redactions and prunes are told to all peers', () => {
  const sync = connectedTo('a', 'b')
  assert.equal(sent(sync.removed(rowOf(99, 3), { ...redactions, stream: rowOf(99, 3).key }), 'records').length, 2)
})

test('events that wait to be forwarded are not sent once a payload of their stream is removed', () => {
  const sync = connectedTo('sender', 'other')
  const store = { do: 'store', from: 'sender', want: undefined, more: false, chunk: chunkOf(row) } as const
  sync.stored(store, 'stored', row, 0)
  const apply = only(sync.received('sender', recordsMessage(0), 0), 'apply-records')
  sync.appliedRecords(apply, 'applied', changed, 0)
  const effects = sync.tick(tuning.forwardDelayMs)
  assert.deepEqual(sent(effects, 'push'), [])
  assert.equal(sent(effects, 'heads').length, 1)
})

test('the redaction records of events are sent before their chunk', () => {
  const sync = connectedTo('a')
  sync.received('a', { is: 'want', id: 5, stream: row.key, from: 0, bytes: 1000 }, 0)
  const effects = sync.read('a', 5, {
    chunks: [
      { records: [redactions], chunk: chunkOf(row, 0) },
      { records: [], chunk: chunkOf(row, 1) },
    ],
  })
  assert.deepEqual(
    effects.map(
      (effect) => effect.do === 'send' && [effect.message.is, 'more' in effect.message && effect.message.more],
    ),
    [
      ['records', false],
      ['chunk', true],
      ['chunk', false],
    ],
  )
})

test('a chunk whose redaction records could not be stored costs no peer its connection, and is asked for again', () => {
  const sync = connectedTo('a')
  const { id } = onlySent(sync.received('a', claimOf(row), 0), 'want').message
  const apply = only(sync.received('a', recordsMessage(id), 0), 'apply-records')
  const store = only(sync.received('a', { is: 'chunk', id, more: false, chunk: chunkOf(row) }, 0), 'store')
  assert.deepEqual(sync.appliedRecords(apply, 'failed', undefined, 0), [])
  assert.deepEqual(sync.stored(store, 'invalid', undefined, 0), [])
  assert.equal(sent(runUntil(sync, limits.failureRetryMs, 'a'), 'want').length, 1)
})

test('a chunk that is invalid costs its sender the connection, with redaction records or without', () => {
  const sync = connectedTo('a')
  const { id } = onlySent(sync.received('a', claimOf(row), 0), 'want').message
  const apply = only(sync.received('a', recordsMessage(id), 0), 'apply-records')
  const store = only(sync.received('a', { is: 'chunk', id, more: false, chunk: chunkOf(row) }, 0), 'store')
  sync.appliedRecords(apply, 'applied', undefined, 0)
  assert.deepEqual(closed(sync.stored(store, 'invalid', undefined, 0)), ['a: badChunk'])
})
