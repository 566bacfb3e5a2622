import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from '../support/property.ts'
import { eventsFrom, linesOf } from './eval/run.ts'
import { someEvents, someQueries } from './naive/generated.ts'
import { naiveMessages } from './naive/query.ts'

const origin = String.raw`(?:synthetic|\d+/[./0-9A-Za-z]{4}-\d+@[-:.T0-9+]{32}(?: - \d+/[./0-9A-Za-z]{4}-\d+@[-:.T0-9+]{32})?): `

test('a generated query has the same result as the naive reference implementation', () => {
  const orders = fc.constantFrom('asc' as const, 'desc' as const, 'stream-asc' as const)
  fc.assert(
    fc.property(someQueries, someEvents, orders, (query, given, order) => {
      const [events, appId] = [eventsFrom(given), 'com.example.test']
      const actual = linesOf(query, events, { order, appId })
      assert.deepEqual(
        actual.map((line) => line.replaceAll(new RegExp(origin, 'g'), '<from>: ')),
        naiveMessages(query, { events, appId, order }),
      )
    }),
    { numRuns: 1000 },
  )
})
