import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rangesOf } from '../../src/protocol/index.ts'
import { recordsHash } from '../../src/replication/index.ts'
import { naiveRecordsHash } from '../protocol/naive.ts'
import * as fc from '../support/property.ts'
import { WrittenStream } from './written-stream.ts'

const { stream: key } = new WrittenStream([])
const offsets = fc.uniqueArray(fc.nat(30), { maxLength: 20 })

test('the hash of the records of a stream is that of the protocol, whatever records have the same effect', () => {
  fc.assert(
    fc.property(offsets, fc.nat(30), fc.nat(35), fc.infiniteStream(fc.nat(5)), (list, pruned, more, sizes) => {
      const count = pruned + more
      const expected = naiveRecordsHash(
        't',
        key.node,
        key.number,
        pruned,
        list.filter((o) => o >= pruned && o < count),
      )
      const hashOf = (ranges: Parameters<typeof recordsHash>[2]) =>
        Buffer.from(recordsHash('t', { key, pruned, count }, ranges), 'latin1')
      assert.deepEqual(hashOf(rangesOf(list)), expected)
      // Records in any order, of several sizes, and the same events once more.
      const records: number[][] = []
      for (let i = 0; i < list.length; ) {
        const size = 1 + (sizes.next().value as number)
        records.push(list.slice(i, i + size))
        i += size
      }
      assert.deepEqual(hashOf([...records, ...records.slice(1)].flatMap(rangesOf)), expected)
    }),
  )
})

test('the hash of the records depends on topic, stream, pruned events and redacted events', () => {
  const base = { key, pruned: 2, count: 20 }
  const hashes = [
    recordsHash('t', base, []),
    recordsHash('u', base, []),
    recordsHash('t', { ...base, key: { ...key, number: 1 } }, []),
    recordsHash('t', { ...base, pruned: 3 }, []),
    recordsHash('t', base, rangesOf([5])),
    recordsHash('t', base, rangesOf([5, 6])),
    recordsHash('t', base, rangesOf([5, 7])),
  ]
  assert.equal(new Set(hashes).size, hashes.length)
  assert.equal(recordsHash('t', base, rangesOf([0, 1, 20, 21])), hashes[0])
  assert.equal(recordsHash('t', { ...base, count: 30 }, rangesOf([5])), hashes[4])
})
