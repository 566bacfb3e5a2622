import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { RoutingTable } from '../../src/events/routing-table.ts'
import { encodeLabels } from '../../src/protocol/index.ts'
import * as fc from '../support/property.ts'
import { anyTagText } from '../support/tag-texts.ts'

const quoted = (tag: string): string => `'${tag.replaceAll("'", "''")}'`

test('the stream for encoded labels is the stream for their tags', () => {
  const tag = fc.oneof(fc.constantFrom('a', 'b', 'ab', 'größe', 'gro\u0308ße', '机器', 'metrics'), anyTagText)
  const group = fc.array(tag, { minLength: 1, maxLength: 3 })
  const appId = fc.constantFrom('com.example.app', 'com.actyx')
  fc.assert(
    fc.property(fc.array(group, { maxLength: 4 }), fc.array(tag, { maxLength: 6 }), appId, (groups, others, appId) => {
      const routes = groups.map((group, i) => ({ from: group.map(quoted).join('&'), into: `${i}` }))
      const table = new RoutingTable(routes, new Map(groups.map((_, i) => [`${i}`, i + 1])))
      for (const tags of [others, [...others, ...(groups[0] ?? [])]]) {
        const normalised = tags.map((tag) => tag.normalize('NFC'))
        assert.equal(table.streamForLabels(appId, encodeLabels(appId, tags)), table.streamFor(appId, normalised))
      }
    }),
    { numRuns: 3000 },
  )
})

test('a tag of a route that is longer than any tag of an event never matches', () => {
  const long = 'x'.repeat(format.tagBytes + 1)
  const table = new RoutingTable([{ from: `'${long}' | 'a'`, into: 'other' }], new Map([['other', 3]]))
  const streamOf = (...tags: string[]): number => table.streamForLabels('x', encodeLabels('x', tags))
  assert.deepEqual([streamOf(long.slice(1)), streamOf('a'), streamOf(long.slice(1), 'a'), streamOf()], [0, 3, 3, 0])
})
