import { ok } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { openForWriting } from '../../src/store/sqlite/log-database.ts'
import { padding } from '../../src/store/sqlite/rows/padding.ts'
import * as fc from '../support/property.ts'

const number = fc.oneof(fc.nat(200), fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.maxSafeNat(), edges())
/** Sizes around the boundaries of the row layout. */
const size = fc.oneof(
  fc.nat(300),
  fc.nat(20_000),
  fc.nat(300).map((over) => 3400 + over),
  fc.constant(200_000),
)
const blocks = fc.array(size, { minLength: 1, maxLength: 1 + format.blocksPerSegment })
const row = fc.tuple(fc.tuple(number, number, number, number, number), blocks)

function edges(): fc.Arbitrary<number> {
  return fc
    .tuple(fc.constantFrom(7, 8, 15, 16, 23, 24, 31, 32, 47, 48), fc.integer({ min: -1, max: 1 }))
    .map(([bits, over]) => 2 ** bits + over)
}

test('the blocks of a segment share no page with another row', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-test-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const mark = Buffer.alloc(16, 'MARK')
  let files = 0
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
      const file = join(folder, `${files++}.db`)
      const database: DatabaseSync = openForWriting(file, 'a topic', 'live')
      const insert = database.prepare(
        `INSERT INTO segment VALUES (?, ?, ?, ?, ?, ?, ?, ?${', ?'.repeat(format.blocksPerSegment)})`,
      )
      for (const [i, [numbers, sizes]] of rows.entries()) {
        const given = sizes.map((bytes) => Buffer.alloc(bytes, 'MARK'))
        const parts = Array.from({ length: 1 + format.blocksPerSegment }, (_, part) => given[part] ?? null)
        // Not in key order, so that pages are split.
        insert.run((i * 7919) % 1009, ...numbers, padding(numbers, parts), ...parts)
      }
      database.close()
      const stored = readFileSync(file)
      for (let page = 0; page < stored.length; page += format.logPageBytes) {
        const leaf = stored[page] === 0x0d
        ok(
          !leaf || !stored.subarray(page, page + format.logPageBytes).includes(mark),
          'no block is on a page with other rows',
        )
      }
      const waste = stored.length - rows.reduce((sum, [, sizes]) => sum + sizes.reduce((a, b) => a + b), 0)
      ok(waste < rows.length * 3 * format.logPageBytes + 20 * format.logPageBytes, 'the padding is bounded')
    }),
    { numRuns: 150 },
  )
})
