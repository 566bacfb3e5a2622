import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { nameOfStream } from '../../../src/replication/index.ts'
import { processedChunk, recordsInVain } from '../../../src/swarm/exchange/processed-input.ts'
import type { StoreOutcome } from '../../../src/sync/index.ts'
import { chunkOf, rowOf } from '../../sync/support.ts'

const row = rowOf(1, 5)
const chunk = chunkOf(row)
const pushed = { chunk, want: undefined }
const asked = { chunk, want: 1 }
const none = { newBytes: 0, newEvents: 0, isNewStream: false, isRefused: false, newStream: undefined, inVain: 0 }
const { goodFaithVerification } = limits

test('a chunk that stores new events is not verified in vain', () => {
  const stored = { ...none, newBytes: chunk.length, newEvents: 5 }
  const newStream = nameOfStream(row.key)
  assert.deepEqual(processedChunk(pushed, 'stored', row, undefined), { ...stored, isNewStream: true, newStream })
  assert.deepEqual(processedChunk(pushed, 'stored', row, rowOf(1, 2)), { ...stored, newEvents: 3 })
  for (const outcome of ['waiting', 'forked', 'invalid', 'failed'] satisfies StoreOutcome[])
    assert.deepEqual(processedChunk(pushed, outcome, row, row), none, outcome)
})

test('a chunk that changes nothing is verified in vain, and counts less if it was sent in good faith', () => {
  for (const outcome of ['known', 'contradicts', 'frozen'] satisfies StoreOutcome[]) {
    assert.deepEqual(processedChunk(pushed, outcome, row, row), { ...none, inVain: 1 }, outcome)
    assert.deepEqual(processedChunk(asked, outcome, row, row), { ...none, inVain: goodFaithVerification }, outcome)
  }
  for (const outcome of ['gap', 'early'] satisfies StoreOutcome[])
    assert.deepEqual(processedChunk(pushed, outcome, row, row), { ...none, inVain: goodFaithVerification }, outcome)
})

test('a refused stream is named', () => {
  const refused = { ...none, isRefused: true, newStream: nameOfStream(row.key), inVain: goodFaithVerification }
  assert.deepEqual(processedChunk(pushed, 'noRoom', undefined, undefined), refused)
})

test('records that change nothing are verified in vain, and count less if they were asked for', () => {
  const redactions = [Buffer.alloc(1), Buffer.alloc(2)]
  const prune = { record: Buffer.alloc(1), head: Buffer.alloc(1) }
  const message = { is: 'records', id: 0, stream: row.key, prune: undefined, redactions, next: undefined } as const
  for (const outcome of ['unchanged', 'failed'] as const) {
    assert.equal(recordsInVain(message, outcome), 2)
    assert.equal(recordsInVain({ ...message, prune }, outcome), 3)
    assert.equal(recordsInVain({ ...message, id: 1 }, outcome), 2 * goodFaithVerification)
  }
  assert.equal(recordsInVain({ ...message, redactions: redactions.slice(1) }, 'applied'), 0)
  assert.equal(recordsInVain(message, 'applied'), 1)
  assert.equal(recordsInVain(message, 'invalid'), 0)
})
