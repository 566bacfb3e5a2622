import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryEvents } from '../../src/aql/eval/memory-events.ts'
import { MessageWriter } from '../../src/aql/eval/messages.ts'
import { Subscription } from '../../src/aql/eval/subscription.ts'
import { AqlError, parseQuery } from '../../src/aql/index.ts'
import type { AqlEvent } from '../../src/aql/values/event.ts'
import { assertMessages, casesOf, type Expected } from './eval/cases.ts'
import { eventsFrom, type Message, now, type TestEvent } from './eval/run.ts'

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

/** A subscription with a log that grows: what a node does around the stages. */
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

/** R4: what is taken back is what was sent. */
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
        // R10: it has ended before the event that ends it elsewhere.
        if (deviation === 'R10') assert.ok(subscriber.done)
        subscriber.publish(step.publish)
        assertMessages(subscriber.taken(), corrected[name] ?? step.expect, stored)
        assert.equal(subscriber.done, step.ends ?? false)
      }
    })
  }

  test('a template in the tags that cannot be evaluated is refused (R14)', () => {
    const query = 'PRAGMA features := interpolation\nFROM `{q}`'
    assert.throws(
      () => new Subscriber(query, 'com.example.test'),
      (thrown) => thrown instanceof AqlError && thrown.detail === 'variable `q` is not bound',
    )
  })
})
