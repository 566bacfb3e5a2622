import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { MainQuery, Order } from '../../src/aql/ast.ts'
import { AqlError, checkFeatures, parseQuery } from '../../src/aql/index.ts'
import { eventsFrom, messagesOf, now, type TestEvent } from './eval/run.ts'

interface ConformanceCase {
  readonly name: string
  readonly events?: readonly (TestEvent | readonly TestEvent[])[]
  readonly query: string
  readonly order?: Order
  readonly expect: {
    readonly status: number
    readonly results: readonly unknown[]
    readonly diagnostics: readonly { readonly severity: string; readonly message: string }[]
  }
}

for (const part of ['expressions', 'stages', 'tags', 'syntax']) {
  const file = new URL(`../../conformance/cases/aql-${part}.json`, import.meta.url)
  const cases = JSON.parse(readFileSync(file, 'utf8').replaceAll('$T', 'mark')) as readonly ConformanceCase[]
  describe(`conformance: ${part}`, () => {
    for (const { name, events = [], query, order, expect } of cases) {
      test(name, () => {
        if (expect.status !== 200) return assert.throws(() => checked(query), AqlError)
        const appId = 'com.example.conformance'
        const stored = eventsFrom(events.flat().map((event) => ({ appId, ...(event as TestEvent) })))
        const messages = messagesOf(checked(query), stored, { appId, ...(order && { order }) })
        const results = messages.filter(({ type }) => type === 'event').map(({ payload }) => payload)
        const diagnostics = messages.filter(({ type }) => type === 'diagnostic')
        assert.deepEqual(results, expect.results)
        assert.deepEqual(
          diagnostics.map(({ severity }) => severity),
          expect.diagnostics.map(({ severity }) => severity),
        )
      })
    }
  })
}

/** The query, if a node would run it. */
function checked(text: string): MainQuery {
  const query = parseQuery(text, { now })
  const problem = checkFeatures(query, 'query')
  if (problem !== undefined) throw new AqlError('static', problem.message, 0)
  return query
}
