import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeIndex, IndexBuilder, lookUp, pairsOf, postingCrc } from '../../src/store/log/tag-index.ts'

/** Few hashes, so that events share them, and those at the ends of the digits by which they are sorted. */
const hash = fc.oneof(
  fc.nat(5),
  fc.constantFrom(2 ** 11 - 1, 2 ** 11, 2 ** 22 - 1, 2 ** 22, 2 ** 31, 2 ** 32 - 1),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
)
const events = fc.array(fc.array(hash, { maxLength: 4 }), { maxLength: 400 })

test('an index has the positions of every hash, and nothing else', () => {
  fc.assert(
    fc.property(events, (hashesOf) => {
      const first = 1000
      const builder = new IndexBuilder(first)
      const expected = new Map<number, number[]>()
      for (const [position, hashes] of hashesOf.entries()) {
        builder.add(first + position, hashes)
        for (const each of hashes) expected.set(each, [...(expected.get(each) ?? []), position])
      }
      const pairs = builder.pairs()
      deepEqual(pairs, pairs.toSorted())
      const { bits, rows } = encodeIndex(pairs)
      const range = { id: 1, stream: 0, first, count: hashesOf.length, bits }
      const stored = rows.map(({ bucket, body }) => ({ crc: postingCrc(range, bucket, body), body }))
      deepEqual(pairsOf(range, stored, 0), pairs)
      for (const [each, positions] of expected) {
        const row = stored[Math.floor(each / 2 ** (32 - bits))]
        const found = row && lookUp(range, row, each)
        deepEqual(found, positions.length > range.count / 2 ? 'most' : positions)
      }
    }),
  )
})
