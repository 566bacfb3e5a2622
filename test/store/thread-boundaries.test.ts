import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Waiting } from '../../src/store/threads/pending-calls.ts'
import { splitPieces } from '../../src/store/threads/reader/pieces.ts'
import { packAppended, packRequest, unpackAppended, unpackRequest } from '../../src/store/threads/thread-messages.ts'
import { AnsweredOrder } from '../../src/store/threads/writer/answered-order.ts'
import { packed } from '../support/events.ts'

const request = {
  ...packed([{ appId: 'com.example.a', tags: ['a'], payload: '{}' }]),
  streams: new Uint32Array(1),
}

test('a response without a pending call fails an assertion', async () => {
  const waiting = new Waiting()
  let asked = 0
  const answer = waiting.ask((id) => {
    asked = id
  })
  waiting.settle(asked, 'answer', undefined)
  assert.equal(await answer, 'answer')
  assert.throws(() => waiting.settle(asked, 'again', undefined), /an answer belongs to a question that is open/)
})

test('a response after its call has failed is ignored', async () => {
  const waiting = new Waiting()
  let asked = 0
  const answer = waiting.ask((id) => {
    asked = id
  })
  waiting.failAll(new Error('closed'))
  await assert.rejects(answer, /closed/)
  waiting.settle(asked, 'late', undefined)
})

test('responses to appends must ascend in lamport timestamps and in the offsets of each stream', () => {
  const order = new AnsweredOrder()
  order.check({ lamport: 5, time: 1, runs: [{ stream: 0, offset: 3, count: 2 }] })
  order.check({ lamport: 9, time: 1, runs: [{ stream: 0, offset: 7, count: 1 }] })
  const answer = (lamport: number, offset: number, count: number) => () =>
    order.check({ lamport, time: 1, runs: [{ stream: 0, offset, count }] })
  assert.throws(answer(9, 8, 1), /lamport timestamps rise/)
  assert.throws(answer(10, 7, 1), /offsets of a stream rise/)
  assert.throws(answer(10, 8, 0), /offsets of a stream rise/)
})

test('a request whose numbers do not match its bytes is refused by sender and receiver', () => {
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

test('responses that end within a run are refused', () => {
  const answers = packAppended([1], [{ lamport: 1, time: 1, runs: [{ stream: 0, offset: 0, count: 1 }] }])
  assert.equal(
    unpackAppended(answers, () => {}),
    1,
  )
  assert.throws(() => unpackAppended(answers.slice(0, -1), () => {}), /a result contains its runs/)
})

test('pieces whose ends do not match their bytes are refused', () => {
  const bytes = new Uint8Array(8)
  assert.throws(() => splitPieces({ ids: [1, 2], ends: [1, 3], bytes }, () => {}), /pieces end where their bytes do/)
  assert.throws(() => splitPieces({ ids: [1, 2], ends: [bytes.length, bytes.length], bytes }, () => {}), /has bytes/)
})
