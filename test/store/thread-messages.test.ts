import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PendingCalls } from '../../src/store/threads/pending-calls.ts'
import { splitPieces } from '../../src/store/threads/reader/pieces.ts'
import { packAppended, packRequest, unpackAppended, unpackRequest } from '../../src/store/threads/thread-messages.ts'
import { AppendOrder } from '../../src/store/threads/writer/append-order.ts'
import { packed } from '../support/events.ts'

const request = {
  ...packed([{ appId: 'com.example.a', tags: ['a'], payload: '{}' }]),
  streams: new Uint32Array(1),
}

test('a reply without a pending call is rejected', async () => {
  const calls = new PendingCalls()
  let callId = 0
  const reply = calls.add((id) => {
    callId = id
  })
  calls.settle(callId, 'result', undefined)
  assert.equal(await reply, 'result')
  assert.throws(() => calls.settle(callId, 'again', undefined), /a reply belongs to a pending call/)
})

test('a late reply to a call that has failed is ignored', async () => {
  const calls = new PendingCalls()
  let callId = 0
  const reply = calls.add((id) => {
    callId = id
  })
  calls.failAll(new Error('closed'))
  await assert.rejects(reply, /closed/)
  calls.settle(callId, 'late', undefined)
})

test('append results with decreasing lamport timestamps or offsets are rejected', () => {
  const order = new AppendOrder()
  order.check({ lamport: 5, time: 1, runs: [{ stream: 0, offset: 3, count: 2 }] })
  order.check({ lamport: 9, time: 1, runs: [{ stream: 0, offset: 7, count: 1 }] })
  const check = (lamport: number, offset: number, count: number) => () =>
    order.check({ lamport, time: 1, runs: [{ stream: 0, offset, count }] })
  assert.throws(check(9, 8, 1), /lamport timestamps increase/)
  assert.throws(check(10, 7, 1), /offsets of a stream increase/)
  assert.throws(check(10, 8, 0), /offsets of a stream increase/)
})

test('an append request with inconsistent counts is rejected by the sender and by the receiver', () => {
  assert.throws(() => packRequest(1, { ...request, spans: new Int32Array(3) }), /has its spans/)
  const memory = packRequest(1, request)
  const damaged = (at: number, value: number): ArrayBuffer => {
    const copy = memory.slice(0)
    new Float64Array(copy, 0, 2)[at] = value
    return copy
  }
  assert.equal(unpackRequest(memory).id, 1)
  for (const [at, value] of [
    [0, 0],
    [1, 1e6],
    [1, -1],
  ] as const)
    assert.throws(() => unpackRequest(damaged(at, value)), /assertion failed/)
})

test('append results that end within a run are rejected', () => {
  const results = packAppended([1], [{ lamport: 1, time: 1, runs: [{ stream: 0, offset: 0, count: 1 }] }])
  assert.equal(
    unpackAppended(results, () => {}),
    1,
  )
  assert.throws(() => unpackAppended(results.slice(0, -1), () => {}), /a result contains its runs/)
})

test('pieces that do not match the length of their buffer are rejected', () => {
  const bytes = new Uint8Array(8)
  assert.throws(
    () => splitPieces({ ids: [1, 2], ends: [1, 3], bytes }, () => {}),
    /the last piece ends with the buffer/,
  )
  assert.throws(
    () => splitPieces({ ids: [1, 2], ends: [bytes.length, bytes.length], bytes }, () => {}),
    /a piece is not empty/,
  )
})
