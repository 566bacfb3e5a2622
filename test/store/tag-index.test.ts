import { deepEqual, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { joinPostings, type RangeRows } from '../../src/store/sqlite/tag-index/joined-postings.ts'
import { encodeIndex, IndexBuilder, lookUp, pairsOf, postingCrc } from '../../src/store/sqlite/tag-index/tag-index.ts'
import * as fc from '../support/property.ts'

/** Few hashes, so that events share them, and hashes at the digit boundaries of the radix sort. */
const hash = fc.oneof(
  fc.nat(5),
  fc.constantFrom(2 ** 11 - 1, 2 ** 11, 2 ** 22 - 1, 2 ** 22, 2 ** 31, 2 ** 32 - 1),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
)
const events = fc.array(fc.array(hash, { maxLength: 4 }), { maxLength: 400 })

test('an index has exactly the positions of every hash', () => {
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

/** Hashes that every event has, that alternate, and that are random. */
const repeated = fc
  .tuple(fc.integer({ min: 1, max: 9 }), events)
  .map(([period, list]) => list.map((hashes, i) => [7, 100 + (i % period), ...hashes]))

function rangeOf(hashesOf: readonly (readonly number[])[], first: number, id: number): RangeRows {
  const builder = new IndexBuilder(first)
  for (const [i, hashes] of hashesOf.entries()) builder.add(first + i, hashes)
  const { bits, rows } = builder.finish()
  const range = { id, stream: 0, first, count: hashesOf.length, bits }
  return { range, rows: rows.map(({ bucket, body }) => ({ crc: postingCrc(range, bucket, body), body })) }
}

test('merging index ranges gives the index of all their events', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(events, repeated), { minLength: 1, maxLength: 8 }), (lists) => {
      const first = 5000
      const starts = lists.map((_, i) => first + lists.slice(0, i).flat().length)
      const { range, rows } = rangeOf(lists.flat(), first, 1)
      const joined = joinPostings(lists.map((list, i) => rangeOf(list, starts[i] as number, i + 2)))
      deepEqual(joined, { bits: range.bits, rows: rows.map(({ body }, bucket) => ({ bucket, body })) })
    }),
  )
})

test('merging index ranges fails if a row is damaged', () => {
  const parts = [rangeOf([[1, 2], [3]], 0, 1), rangeOf([[1], [4]], 2, 2)]
  const [{ crc = 0, body = Buffer.alloc(0) } = {}] = parts[1]?.rows ?? []
  const flipped = Buffer.from(body)
  flipped[0] = (flipped[0] ?? 0) ^ 1
  const damaged = parts.with(1, { ...(parts[1] as RangeRows), rows: [{ crc, body: flipped }] })
  throws(() => joinPostings(damaged), { name: 'DamagedData' })
})
