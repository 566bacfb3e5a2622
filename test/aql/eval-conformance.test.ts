import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { MainQuery, Order } from '../../src/aql/ast.ts'
import { AqlError, checkFeatures, parseQuery } from '../../src/aql/index.ts'
import { eventsFrom, type Message, messagesOf, now, type TestEvent } from './eval/run.ts'

interface ConformanceCase {
  readonly name: string
  readonly events?: readonly (TestEvent | readonly TestEvent[])[]
  readonly query: string
  readonly order?: Order
  readonly expect: Answer | Refusal
}

interface Answer {
  readonly status: 200
  readonly results: readonly unknown[]
  readonly diagnostics: readonly Pick<Message, 'severity' | 'message'>[]
}

interface Refusal {
  readonly status: 400
  readonly message: string
}

/** As long as the recorded one, because messages contain column numbers. */
const mark = 'conformance'

for (const part of ['expressions', 'stages', 'tags', 'syntax']) {
  const file = new URL(`../../conformance/cases/aql-${part}.json`, import.meta.url)
  const cases = JSON.parse(readFileSync(file, 'utf8').replaceAll('$T', mark)) as readonly ConformanceCase[]
  describe(`conformance: ${part}`, () => {
    for (const { name, events = [], query, order, expect } of cases) {
      test(name, () => {
        if (expect.status !== 200)
          return assert.throws(() => checked(query), { name: 'AqlError', message: withoutGreeting(expect.message) })
        const appId = 'com.example.conformance'
        const stored = eventsFrom(events.flat().map((event) => ({ appId, ...(event as TestEvent) })))
        const messages = messagesOf(checked(query), stored, { appId, ...(order && { order }) })
        const results = messages.filter(({ type }) => type === 'event').map(({ payload }) => payload)
        const diagnostics = messages.filter(({ type }) => type === 'diagnostic')
        assert.deepEqual(results, expect.results)
        assert.deepEqual(diagnostics.map(told), expect.diagnostics.map(told))
      })
    }
  })
}

/** The prefix of API error messages. */
function withoutGreeting(message: string): string {
  return message.replace(/^Invalid request\. /, '')
}

/** A message without the event key and time, which differ from the recorded ones. */
function told({ severity, message = '' }: Pick<Message, 'severity' | 'message'>): string {
  return `${severity}: ${message.replace(/\d+\/\S{4}-\d+@[-\d:T.+]+: /, '')}`
}

/** Parses a query and checks its features. */
function checked(text: string): MainQuery {
  const query = parseQuery(text, { now })
  const problem = checkFeatures(query, 'query')
  if (problem !== undefined) throw new AqlError('static', problem.message, 0)
  return query
}
