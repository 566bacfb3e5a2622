import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../../src/base/format.ts'
import { tuning } from '../../../src/base/tuning.ts'
import { redactionBatches } from '../../../src/events/redaction/redaction-batches.ts'
import { rangesOf } from '../../../src/protocol/index.ts'
import * as fc from '../../support/property.ts'

/** Lengths of runs of offsets, and of the gaps before them. */
const runs = fc.array(fc.tuple(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 900 })), { maxLength: 40 })
const scattered = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.constant(2)), { minLength: 100, maxLength: 700 })
const chunkLengths = fc.array(fc.integer({ min: 1, max: 2047 }), { maxLength: 60 })

function offsetsOf(parts: readonly (readonly [number, number])[]): number[] {
  let next = 0
  return parts.flatMap(([length, gap]) => {
    const first = next + gap
    next = first + length
    return Array.from({ length }, (_, i) => first + i)
  })
}

test('batches have all offsets in their order, each within the limits of a record and of the writer', () => {
  fc.assert(
    fc.property(fc.oneof(runs, scattered), chunkLengths, (parts, lengths) => {
      const offsets = offsetsOf(parts)
      let end = 0
      const ends = lengths.map((length) => {
        end += length
        return end
      })
      const batches = redactionBatches(offsets, ends)
      assert.deepEqual(batches.flat(), offsets)
      for (const batch of batches) {
        assert.ok(batch.length > 0 && batch.length <= format.offsetsPerRedaction)
        assert.ok(rangesOf(batch).length <= format.rangesPerRedaction)
        const chunks = new Set(batch.map((offset) => ends.findIndex((chunkEnd) => offset < chunkEnd)))
        assert.ok(chunks.size <= tuning.chunksPerRedaction)
      }
      // No batch could take the first offset of the next one.
      for (const [i, batch] of batches.slice(1).entries()) {
        const joined = [...(batches[i] as number[]), batch[0] as number]
        const chunks = new Set(joined.map((offset) => ends.findIndex((chunkEnd) => offset < chunkEnd)))
        assert.ok(
          joined.length > format.offsetsPerRedaction ||
            rangesOf(joined).length > format.rangesPerRedaction ||
            chunks.size > tuning.chunksPerRedaction,
        )
      }
    }),
    { numRuns: 50 },
  )
})
