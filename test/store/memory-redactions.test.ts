import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryRedactions } from '../../src/store/memory/memory-redactions.ts'
import * as fc from '../support/property.ts'

const offset = fc.nat(30)
const step = fc.oneof(
  fc.record({ add: fc.uniqueArray(offset, { minLength: 1, maxLength: 5 }) }),
  fc.record({ dropFrom: offset }),
  fc.record({ dropBefore: offset }),
  fc.record({ expectedFrom: offset }),
)

test('redacted offsets and their records are those of a plain list, whatever was counted before', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), offset, fc.nat(40), (steps, from, length) => {
      const redactions = new MemoryRedactions()
      let list: { offset: number; record: Uint8Array }[] = []
      const check = (at: number): void => {
        const expected = list.filter((entry) => entry.offset >= at)
        const records = new Set(expected.map(({ record }) => record)).size
        assert.deepEqual(redactions.expectedFrom(at), { records, offsets: expected.length })
      }
      for (const given of steps)
        if ('add' in given) {
          const record = Buffer.of(1)
          // Only offsets that are not redacted yet are added.
          const added = given.add.filter((at) => redactions.get(at) === undefined)
          redactions.add(added, record)
          list.push(...added.map((at) => ({ offset: at, record })))
        } else if ('dropFrom' in given) {
          redactions.dropFrom(given.dropFrom)
          list = list.filter((entry) => entry.offset < given.dropFrom)
        } else if ('dropBefore' in given) {
          redactions.dropBefore(given.dropBefore)
          list = list.filter((entry) => entry.offset >= given.dropBefore)
        } else check(given.expectedFrom)
      check(from)
      const inRange = list.map((entry) => entry.offset).filter((at) => at >= from && at < from + length)
      assert.deepEqual(
        redactions.between(from, from + length),
        inRange.sort((a, b) => a - b),
      )
    }),
  )
})
