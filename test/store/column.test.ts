import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ByteReader, ByteWriter } from '../../src/protocol/index.ts'
import { readColumn, writeColumn } from '../../src/store/sqlite/rows/column.ts'
import * as fc from '../support/property.ts'

const number = fc.oneof(fc.nat(3), fc.maxSafeNat(), fc.constantFrom(0, Number.MAX_SAFE_INTEGER, 2 ** 52, 2 ** 52 - 1))
/** Numbers in an arithmetic progression. */
const run = fc
  .tuple(fc.nat(2 ** 40), fc.integer({ min: 0, max: 2 }), fc.integer({ min: 1, max: 40 }))
  .map(([start, step, times]) => Array.from({ length: times }, (_, i) => start + step * i))

test('a column round-trips', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(number),
        fc.array(run, { maxLength: 5 }).map((runs) => runs.flat()),
      ),
      (values) => {
        const writer = new ByteWriter(1)
        writeColumn(writer, values)
        const reader = new ByteReader(writer.written)
        deepEqual([...readColumn(reader, new Float64Array(values.length))], values)
        equal(reader.remaining, 0)
      },
    ),
  )
})
