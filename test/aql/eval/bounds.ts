import type { EventProvider } from '../../../src/aql/eval/event-provider.ts'
import { MemoryEvents } from '../../../src/aql/eval/memory-events.ts'
import type { AqlEvent } from '../../../src/aql/values/event.ts'
import { Failure } from '../../../src/aql/values/failure.ts'

/** Offsets by `stream0`, `stream1`, … */
export type Bounds = Readonly<Record<string, number>>

/** The events between two bounds. Like a store, it rejects bounds beyond the known events. */
export function boundedEvents(events: readonly AqlEvent[], lower: Bounds = {}, upper?: Bounds): EventProvider {
  const name = ({ stream }: AqlEvent) => `stream${stream.number}`
  const isKnown = ([stream, offset]: [string, number]) =>
    events.some((event) => name(event) === stream && event.offset >= offset)
  const within = new MemoryEvents(
    events.filter((event) => {
      const [after, upTo] = [lower[name(event)] ?? -1, upper === undefined ? event.offset : (upper[name(event)] ?? -1)]
      return event.offset > after && event.offset <= upTo
    }),
  )
  return {
    open(plan, order) {
      if (!Object.entries(upper ?? {}).every(isKnown))
        throw new Failure('Query bounds out of range: upper bound must be within the known present.')
      return within.open(plan, order)
    },
  }
}
