import type { TestEvent } from '../../test/aql/eval/run.ts'
import { type Answer, comparable, isSame } from './answer.ts'
import { hasAlikeAggregators, isSubscriptionExcluded } from './exclusions.ts'
import type { GeneratedQuery } from './generated-query.ts'
import { type Placement, pragmaWith, textFor } from './placement.ts'
import type { Request, Side } from './side.ts'

/** Different responses to the same query. */
export interface Difference {
  readonly request: Request
  readonly ours: Answer
  readonly reference: Answer
}

/** The bookkeeping events that the reference puts before those of `PRAGMA events` (R15). */
const bookkeeping = 4

const farAway = 1_000_000

/** Two nodes with the same events. */
export class Comparison {
  readonly #ours: Side
  readonly #reference: Side
  readonly #events: readonly TestEvent[]
  readonly #places: readonly [Placement, Placement]

  private constructor(
    ours: Side,
    reference: Side,
    events: readonly TestEvent[],
    places: readonly [Placement, Placement],
  ) {
    this.#ours = ours
    this.#reference = reference
    this.#events = events
    this.#places = places
  }

  static async over(events: readonly TestEvent[], tag: string, ours: Side, reference: Side): Promise<Comparison> {
    const places = await Promise.all([ours.publish(events, tag), reference.publish(events, tag)])
    return new Comparison(ours, reference, events, places)
  }

  async difference(generated: GeneratedQuery): Promise<Difference | undefined> {
    const isGiven = generated.way.kind === 'given'
    const [here, there] = this.#placesFor(generated)
    const request = this.#request(generated, here, bookkeeping)
    const [ours, reference] = await Promise.all([
      this.#ours.ask(request),
      this.#reference.ask(this.#request(generated, there, 0)),
    ])
    const isTaken = ours.status === 200 && reference.status === 200
    if (generated.way.kind === 'damaged' && isTaken) return undefined
    const [a, b] = [comparable(ours, here, isGiven), comparable(reference, there, isGiven)]
    const isOrdered = !hasAlikeAggregators(generated.query)
    return isSame(a, b, isOrdered) ? undefined : { request, ours: a, reference: b }
  }

  /** Only stored events have different keys on the two nodes. */
  #placesFor({ way }: GeneratedQuery): readonly [Placement, Placement] {
    if (way.kind === 'stored') return this.#places
    const place = { tag: this.#places[0].tag, lamport: bookkeeping, offset: bookkeeping, stream: '' }
    return [place, place]
  }

  #request({ query, order, layout, way }: GeneratedQuery, place: Placement, before: number): Request {
    const text = textFor(query, place, layout)
    if (way.kind === 'given')
      return { endpoint: 'query', body: { query: pragmaWith(this.#events, place.tag, before) + text, order } }
    const endpoint = isSubscriptionExcluded(query) ? 'query' : way.endpoint
    const session = 'comparison'
    // Empty bounds, because a damaged text may select events that only one of the nodes has.
    if (way.kind === 'damaged')
      return { endpoint, body: { query: damaged(text, way), order, session, lowerBound: {}, upperBound: {} } }
    // The reference may have later events of its own, so an offset beyond ours must be beyond those too.
    const offsetOf = (at: number): number => place.offset + (at < this.#events.length ? at : at + farAway)
    const bound = (at: number | undefined) => (at === undefined ? undefined : { [place.stream]: offsetOf(at) })
    const [lowerBound = {}, upperBound] = [bound(way.lower), bound(way.upper)]
    return { endpoint, body: { query: text, order, session, lowerBound, upperBound } }
  }
}

/** A text with one token removed or duplicated. */
function damaged(text: string, { at, change }: { readonly at: number; readonly change: 'lost' | 'twice' }): string {
  const words = text.match(/\w+|\s+|[^\w\s]/g) ?? []
  const place = at % words.length
  return words.toSpliced(place, 1, ...(change === 'lost' ? [] : [words[place] ?? '', ' ', words[place] ?? ''])).join('')
}
