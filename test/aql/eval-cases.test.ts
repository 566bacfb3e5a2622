import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Order } from '../../src/aql/ast.ts'
import { AqlError, parseQuery } from '../../src/aql/index.ts'
import { streamText } from '../../src/aql/values/event.ts'
import { type Bounds, boundedEvents } from './eval/bounds.ts'
import { assertMessages, casesOf, type Expected } from './eval/cases.ts'
import { eventsFrom, inlineEventsOf, messagesOf, now, stream, type TestEvent } from './eval/run.ts'

interface QueryCase {
  readonly events: readonly TestEvent[]
  readonly appId: string
  readonly order: Order
  readonly expect: readonly Expected[]
  readonly lowerBound?: Bounds
  readonly upperBound?: Bounds
}

const offsets = { type: 'offsets' }
const event = (payload: unknown): Expected => ({ type: 'event', payload })

/** Expected messages of intended deviations, by the number of the deviation. */
const deviations: Readonly<Record<string, Readonly<Record<string, readonly Expected[]>>>> = {
  R4: { "FROM 't' LIMIT 1 SELECT 1, 2 LET x := _ SELECT [_, x]": [event([1, 1]), event([2, 2]), offsets] },
  R5: { "FROM 't' LIMIT 1 SELECT FROM [...[1,2]]": [event([1, 2]), offsets] },
  R7: {
    "FROM 't' LIMIT 1 SELECT _.n + 1": [event(-4), offsets],
    "FROM 't' LIMIT 1 SELECT _.n < 0": [event(true), offsets],
    "FROM 'n' SELECT _.a / 4, _.b / 4, _.e / 3, _.g + 1, `{_.f} {_.b}`, _.f + 1, _.f = _.f": [
      ...[0.625, 0, 33.416666666666664, -4.5, '-5 2', -4, true].map(event),
      offsets,
    ],
  },
  R8: { 'FROM [1,2,3] AGGREGATE LAST(_)': [event(3), offsets] },
  R9: {
    "FROM 't' & TIME > 2020-01-01Z | 'u'": [
      event({ x: 1, s: 'a', n: -5, f: 2.5, arr: [1, 2], o: { k: 'v' }, nul: null, b: true }),
      event({ x: 2 }),
      event({ x: 3, s: 'b' }),
      offsets,
    ],
  },
  R20: { "FROM 't' LIMIT 1 SELECT (TIME(_))[0] > TIME(2020-01-01Z)": [event(true), offsets] },
}

function expectedOf(query: string, deviation: string | undefined, recorded: readonly Expected[]): readonly Expected[] {
  if (deviation === undefined) return recorded
  const expected = deviations[deviation]?.[query.slice(query.indexOf('FROM'))]
  assert.ok(expected, `${deviation} has expected messages`)
  return expected
}

describe('queries of the case file', () => {
  for (const { name, query, events, appId, order, expect, lowerBound, upperBound, deviation } of casesOf<QueryCase>(
    'query',
  )) {
    test(`${name}${deviation ? ` (${deviation})` : ''}`, () => {
      const text = query.replaceAll('<stream>', streamText(stream))
      // R11: rejected statically, while the reference only fails at run time.
      if (deviation === 'R11') return assert.throws(() => parseQuery(text, { now }), AqlError)
      const stored = inlineEventsOf(parseQuery(text, { now })) ?? eventsFrom(events)
      const port = boundedEvents(stored, lowerBound, upperBound)
      const messages = messagesOf(text, stored, { order, appId, port })
      assertMessages(messages, expectedOf(query, deviation, expect), stored)
    })
  }
})

interface RobustnessCase {
  readonly expect: { readonly shoal: { readonly messages?: readonly Expected[] } }
}

describe('queries that crash the reference', () => {
  for (const { name, query, expect } of casesOf<RobustnessCase>('robustness')) {
    const { messages } = expect.shoal
    // The others are rejected texts, which the tests of the parser and of subscriptions cover.
    if (messages !== undefined) test(name, () => assertMessages(messagesOf(query, []), messages, []))
  }

  test('a chain of ten thousand tags is evaluated', () => {
    const tags = Array.from({ length: 10_000 }, (_, at) => `'x${at}'`)
    const events = eventsFrom([
      { tags: ['x9999'], payload: 1 },
      { tags: ['y'], payload: 2 },
    ])
    const found = (operator: string) => messagesOf(`FROM ${tags.join(operator)}`, events).map(({ payload }) => payload)
    assert.deepEqual(found(' | '), [1, undefined])
    assert.deepEqual(found(' & '), [undefined])
  })
})
