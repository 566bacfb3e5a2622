import type { Endpoint, Order, Query } from '../../src/aql/index.ts'
import { someEvents, someQueries } from '../../test/aql/naive/generated.ts'
import * as fc from '../../test/support/property.ts'
import { isExcluded, isPayloadExcluded, usesTime } from './exclusions.ts'
import type { Layout } from './placement.ts'

/** A generated query and how it is sent. */
export interface GeneratedQuery {
  readonly query: Query
  readonly order: Order
  readonly layout: Layout
  readonly way: Way
}

/**
 * Over inline events; over stored events, with bounds relative to the first of them; or as a damaged text with one
 * token removed or duplicated, which only checks the rejection.
 */
export type Way =
  | { readonly kind: 'given' }
  | {
      readonly kind: 'stored'
      readonly endpoint: Endpoint
      readonly lower: number | undefined
      readonly upper: number | undefined
    }
  | { readonly kind: 'damaged'; readonly endpoint: Endpoint; readonly at: number; readonly change: 'lost' | 'twice' }

const endpoints = fc.constantFrom<Endpoint>('query', 'query', 'query', 'subscribe', 'subscribe_monotonic')
const ways: fc.Arbitrary<Way> = fc.oneof(
  // Rare, because each of them leaks a megabyte in the reference.
  { weight: 1, arbitrary: fc.constant<Way>({ kind: 'given' }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('stored' as const),
      endpoint: endpoints,
      lower: fc.option(fc.nat(4), { nil: undefined, freq: 1 }),
      upper: fc.option(fc.nat(12), { nil: undefined, freq: 1 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('damaged' as const),
      endpoint: endpoints,
      at: fc.nat(200),
      change: fc.constantFrom('lost' as const, 'twice' as const),
    }),
  },
)

export const generatedQueries: fc.Arbitrary<GeneratedQuery> = fc
  .record({
    query: someQueries.filter((query) => !isExcluded(query)),
    order: fc.constantFrom<Order>('asc', 'desc', 'stream-asc'),
    layout: fc.constantFrom<Layout>('one line', 'many lines'),
    way: ways,
  })
  .map((question) => (usesTime(question.query) ? { ...question, way: { kind: 'given' } } : question))

export const comparedEvents = someEvents.filter(
  (events) => events.length >= 4 && !events.some(({ json = '' }) => isPayloadExcluded(json)),
)
