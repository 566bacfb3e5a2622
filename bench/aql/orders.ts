import type { Cursor, EventProvider } from '../../src/aql/eval/event-provider.ts'
import type { Plan } from '../../src/aql/plan/plan.ts'
import type { AqlEvent } from '../../src/aql/values/event.ts'

const stream = { node: 'z4tgHvrmNRMcPHN.XHzNd0hXvTqXn5AmcCTmzQZrJ0I', number: 0 }
const cities = ['Munich', 'Zürich', 'Oslo', 'Lisboa']

/** Events of a small factory: an order, and the two processing steps of each order. */
export function someOrders(count: number): AqlEvent[] {
  return Array.from({ length: count }, (_, at) => {
    const order = Math.floor(at / 3)
    const isOrder = at % 3 === 0
    const payload = isOrder
      ? {
          type: 'created',
          id: `order-${order}`,
          quantity: order % 100,
          price: 9.75 + (order % 7),
          customer: { name: 'Ada Lovelace', city: cities[order % 4], since: '2019-05-01T08:30:00.120Z' },
          lines: [
            { sku: 'bolt-12', count: 2 },
            { sku: 'nut-07', count: order % 5 },
          ],
        }
      : {
          type: 'step',
          order: `order-${order}`,
          done: 1 + (at % 7),
          machine: `m${at % 9}`,
          temperature: 20.5 + (at % 9),
        }
    return {
      lamport: at,
      stream,
      offset: at,
      time: 1_700_000_000_000_000 + 1000 * at,
      tags: isOrder ? ['order'] : ['step', `step:order-${order}`],
      appId: 'com.example.factory',
      own: true,
      payload: JSON.stringify(payload),
    }
  })
}

/** An event source with an index by tag. It only uses the first tag of a plan. */
export class IndexedEvents implements EventProvider {
  readonly #byTag = new Map<string, AqlEvent[]>()

  constructor(events: readonly AqlEvent[]) {
    for (const event of events) {
      for (const tag of event.tags) {
        const known = this.#byTag.get(tag)
        if (known === undefined) this.#byTag.set(tag, [event])
        else known.push(event)
      }
    }
  }

  of(tag: string): readonly AqlEvent[] {
    return this.#byTag.get(tag) ?? []
  }

  open({ anyOf }: Plan): Cursor {
    const events = this.of(anyOf[0]?.tags[0] ?? '')
    let at = 0
    return { next: () => events[at++], close: () => {} }
  }
}
