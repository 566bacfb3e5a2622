import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryEvents } from '../../src/aql/eval/memory-events.ts'
import { MessageWriter } from '../../src/aql/eval/messages.ts'
import { Subscription } from '../../src/aql/eval/subscription.ts'
import { AqlError, parseExpr, parseQuery, type Query, type Stage } from '../../src/aql/index.ts'
import type { AqlEvent } from '../../src/aql/values/event.ts'
import { exprsIn } from '../../src/aql/walk.ts'
import * as fc from '../support/property.ts'
import { assertMessages, casesOf, type Expected } from './eval/cases.ts'
import { eventsFrom, linesOf, type Message, now, type TestEvent } from './eval/run.ts'
import { someEvents, someQueries } from './naive/generated.ts'

interface SubscribeCase {
  readonly events: readonly TestEvent[]
  readonly appId: string
  readonly expect: readonly Expected[]
  readonly lowerBound?: Readonly<Record<string, number | 'present'>>
  readonly steps?: readonly Step[]
}

interface Step {
  readonly publish: readonly TestEvent[]
  readonly expect: readonly Expected[]
  readonly ends?: boolean
}

/** A subscription over a growing log, driven as a node does it. */
class Subscriber {
  readonly #messages: Message[] = []
  readonly #subscription: Subscription
  readonly #log: TestEvent[] = []
  readonly #lower: Readonly<Record<string, number | 'present'>>

  constructor(query: string, appId: string, lower: Readonly<Record<string, number | 'present'>> = {}) {
    const writer = new MessageWriter((line) => this.#messages.push(JSON.parse(line) as Message))
    this.#subscription = new Subscription(parseQuery(query, { now }), appId, writer)
    this.#lower = lower
  }

  publish(added: readonly TestEvent[]): void {
    const before = this.#log.length
    this.#log.push(...added)
    const events = eventsFrom(this.#log)
      .slice(before)
      .filter((event) => this.#isWanted(event))
    const cursor = new MemoryEvents(events).open(this.#subscription.plan, 'asc')
    for (let event = cursor.next(); typeof event === 'object'; event = cursor.next()) this.#subscription.push(event)
    this.#subscription.flush()
  }

  #isWanted({ stream, offset }: AqlEvent): boolean {
    const bound = this.#lower[`stream${stream.number}`] ?? -1
    return bound !== 'present' && offset > bound
  }

  get done(): boolean {
    return this.#subscription.done
  }

  taken(): Message[] {
    return this.#messages.splice(0)
  }
}

/** R4: the retracted value is the one that was sent. */
const corrected: Readonly<Record<string, readonly Expected[]>> = {
  "obs-sub: FROM 'b' AGGREGATE LAST(_) LET x := _ SELECT x from [1]": [
    { type: 'antiEvent', payload: 1 },
    { type: 'event', payload: 3 },
  ],
}

describe('subscriptions of the case file', () => {
  for (const { name, query, events, appId, expect, lowerBound, steps = [], deviation } of [
    ...casesOf<SubscribeCase>('subscribe'),
    ...casesOf<SubscribeCase>('subscribeMonotonic'),
  ]) {
    test(`${name}${deviation ? ` (${deviation})` : ''}`, () => {
      const subscriber = new Subscriber(query, appId, lowerBound)
      subscriber.publish(events)
      const stored = eventsFrom(events)
      assertMessages([...subscriber.taken(), { type: 'offsets' }], expect, stored)
      for (const step of steps) {
        // R10: it ended before the event that ends the reference.
        if (deviation === 'R10') assert.ok(subscriber.done)
        subscriber.publish(step.publish)
        assertMessages(subscriber.taken(), corrected[name] ?? step.expect, stored)
        assert.equal(subscriber.done, step.ends ?? false)
      }
    })
  }

  test('a subscription with a failing tag template is rejected', () => {
    const query = 'PRAGMA features := interpolation\nFROM `{q}`'
    assert.throws(
      () => new Subscriber(query, 'com.example.test'),
      (thrown) => thrown instanceof AqlError && thrown.detail === 'variable `q` is not bound',
    )
  })
})

const endless: fc.Arbitrary<Query> = someQueries
  .map(({ source, stages }) => ({
    source,
    stages: stages.filter((stage) => stage.kind !== 'limit' && stage.kind !== 'aggregate'),
  }))
  .filter((query) => query.source.kind === 'events' && [...exprsIn(query)].every(({ kind }) => kind !== 'query'))

const last: fc.Arbitrary<Stage> = fc.constantFrom('SUM(1)', 'LAST(_)', 'FIRST(_)', 'SUM(1) * 2').map((text) => ({
  kind: 'aggregate',
  expr: parseExpr(text, { now }),
}))

/** The lines of a subscription that gets its events in two bursts. */
function sentFor(query: Query, given: readonly TestEvent[], split: number): string[] {
  const lines: string[] = []
  const subscription = new Subscription(query, 'com.example.test', new MessageWriter((line) => lines.push(line)))
  const events = eventsFrom(given)
  for (const burst of [events.slice(0, split), events.slice(split)]) {
    const cursor = new MemoryEvents(burst).open(subscription.plan, 'asc')
    for (let event = cursor.next(); typeof event === 'object'; event = cursor.next()) subscription.push(event)
    subscription.flush()
  }
  return lines
}

/** Whether a tag template fails; such subscriptions are rejected. */
function isRejected(query: Query): boolean {
  return linesOf(query, []).some((line) => line.includes('"severity":"error"'))
}

describe('a subscription', () => {
  test('a subscription sends the results of the query, however the events are split into bursts', () => {
    fc.assert(
      fc.property(endless, someEvents, fc.nat(10), (query, given, split) => {
        fc.pre(!isRejected(query))
        const ascending = { ...query, source: { ...query.source, order: undefined } } as Query
        assert.deepEqual([...sentFor(query, given, split), offsets], linesOf(ascending, eventsFrom(given)))
      }),
    )
  })

  test('a subscription retracts every aggregate result but the final one', () => {
    fc.assert(
      fc.property(endless, last, someEvents, fc.nat(10), (query, aggregate, given, split) => {
        fc.pre(!isRejected(query))
        const stages = [...query.stages, aggregate]
        const ascending = { source: { ...query.source, order: 'asc' }, stages } as Query
        const answer = linesOf({ ...ascending }, eventsFrom(given)).filter((line) => line.startsWith('{"type":"event"'))
        const sent = sentFor({ ...query, stages }, given, split)
        const taken = sent.filter((line) => line.startsWith('{"type":"antiEvent"'))
        const standing = sent.filter((line) => line.startsWith('{"type":"event"'))
        for (const line of taken) standing.splice(standing.indexOf(line.replace('antiEvent', 'event')), 1)
        assert.deepEqual(standing, answer)
      }),
    )
  })
})

const offsets = '{"type":"offsets"}'
