import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { Branch } from '../../src/store/port/index.ts'
import { LogCursor } from '../../src/store/sqlite/index.ts'
import { packed } from '../support/events.ts'
import { openLog } from '../support/log.ts'
import * as fc from '../support/property.ts'

const tagsOf = (i: number): string[] => [`of60:${i % 60}`, `id:${i}`, `"ü" ${i % 40}`]
const count = 3000

test('hundreds of branches select the union of their events', (t) => {
  const { writer, reader } = openLog(t)
  const events = Array.from({ length: count }, (_, i) => ({ appId: `app${i % 3}`, tags: tagsOf(i), payload: '1' }))
  writer.append([{ ...packed(events), streams: new Uint32Array(count) }])
  // Two chunks are sealed and indexed, the rest stays in the tail.
  writer.sealAll()
  const lone = fc.oneof(
    fc.nat(70).map((n) => `of60:${n}`),
    fc.nat(2 * count).map((n) => `id:${n}`),
    fc.nat(50).map((n) => `"ü" ${n}`),
  )
  const branch: fc.Arbitrary<Branch> = fc.oneof(
    { weight: 30, arbitrary: lone.map((tag) => ({ tags: [tag] })) },
    fc.tuple(lone, fc.nat(3)).map(([tag, app]) => ({ tags: [tag], appId: `app${app}` })),
    fc.tuple(lone, lone).map((tags) => ({ tags })),
    fc.constant({ tags: [], appId: 'app9' }),
  )
  fc.assert(
    fc.property(fc.array(branch, { minLength: 1, maxLength: 400, size: 'max' }), fc.boolean(), (anyOf, descending) => {
      const cursor = new LogCursor(reader, { anyOf, order: descending ? 'desc' : 'asc' })
      const found: number[] = []
      cursor.begin()
      for (let at = cursor.next(); at !== undefined; at = cursor.next())
        found.push(at.block.lamports[at.index] as number)
      const expected = events.flatMap(({ appId, tags }, i) => {
        const isSelected = anyOf.some(
          (one) => one.tags.every((tag) => tags.includes(tag)) && (one.appId ?? appId) === appId,
        )
        return isSelected ? [i] : []
      })
      deepEqual(found, descending ? expected.reverse() : expected)
    }),
    { numRuns: 100 },
  )
})
