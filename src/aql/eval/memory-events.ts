import type { Order } from '../ast.ts'
import type { InlineEvent } from '../inline-events.ts'
import type { Plan } from '../plan/plan.ts'
import { isOfBranch } from '../plan/predicate.ts'
import { Pace } from '../steps.ts'
import { type AqlEvent, compareEventKeys, type EventStream } from '../values/event.ts'
import { type Cursor, type EventProvider, notReady } from './event-provider.ts'

/** An in-memory event source: inline events of a query, or the events of a file. */
export class MemoryEvents implements EventProvider {
  readonly #ascending: readonly AqlEvent[]
  readonly #byStream: readonly AqlEvent[]

  constructor(events: readonly AqlEvent[]) {
    this.#ascending = events.toSorted(compareEventKeys)
    // The sort is stable, so each stream keeps its order.
    this.#byStream = this.#ascending.toSorted((a, b) => {
      const zero = { lamport: 0 }
      return compareEventKeys({ ...zero, stream: a.stream }, { ...zero, stream: b.stream })
    })
  }

  open({ anyOf, residual, residualSteps = 1 }: Plan, order: Order): Cursor {
    const events = order === 'stream-asc' ? this.#byStream : this.#ascending
    const isDescending = order === 'desc'
    const pace = new Pace()
    let next = 0
    return {
      next() {
        while (next < events.length) {
          const event = events[isDescending ? events.length - ++next : next++] as AqlEvent
          if (anyOf.some((branch) => isOfBranch(branch, event)) && (residual?.(event) ?? true)) return event
          if (pace.isDue(anyOf.length + residualSteps)) return notReady
        }
        return undefined
      },
      close() {
        next = events.length
      },
    }
  }
}

/** A stream that belongs to no node. It is not the all-zero stream, which stands for "no stream" in a query. */
export const privateStream: EventStream = { node: `${'.'.repeat(42)}2`, number: 0 }

/** Turns inline events into one stream with offsets from zero. */
export function eventsOfStream(given: readonly InlineEvent[], stream = privateStream): AqlEvent[] {
  return given.map(({ payload, tags, appId, time }, at) => ({
    lamport: at,
    stream,
    offset: at,
    time: Number(time),
    tags,
    appId,
    own: true,
    payload,
  }))
}
