import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareOwnStream, doubtOf, newStoreMarks, type StartMarks } from '../../src/replication/index.ts'

test('the doubt about own streams follows from the marks of the store, in all cases', () => {
  for (let bits = 0; bits < 32; bits++) {
    const marks: StartMarks = {
      isCleanStop: (bits & 1) > 0,
      isSameFile: (bits & 2) > 0,
      isAnnounced: (bits & 4) > 0,
      isRestored: (bits & 8) > 0,
      isAccepted: (bits & 16) > 0,
    }
    assert.equal(doubtOf(marks), table[bits], JSON.stringify(marks))
  }
})

/** By accepted, restored, announced, same file and clean stop as bits, the first one the highest. */
const table = [
  // Not announced: nothing of it can be forked.
  ...[undefined, undefined, undefined, undefined],
  // Announced: neither clean nor the same file, clean, the same file, both.
  ...['copied', 'copied', 'unclean', undefined],
  // Restored, whatever the copy says about the original.
  ...Array.from({ length: 8 }, () => 'restored'),
  // Accepted by the operator.
  ...Array.from({ length: 16 }, () => undefined),
]

test('a new store is not in doubt', () => {
  assert.equal(doubtOf(newStoreMarks), undefined)
})

test('an own stream on a peer is compared by the place of its head', () => {
  const compared = (count: number, place: Parameters<typeof compareOwnStream>[1]) =>
    compareOwnStream({ stream: 3, count }, place, 10).is
  assert.equal(compared(10, 'contained'), 'equal')
  assert.equal(compared(9, 'contained'), 'shorter')
  assert.equal(compared(4, 'pruned'), 'shorter')
  assert.equal(compared(11, 'ahead'), 'longer')
  for (const count of [1, 10]) assert.equal(compared(count, 'contradicts'), 'forked')
})
