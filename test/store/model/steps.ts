import { tuning } from '../../../src/base/tuning.ts'
import * as fc from '../../support/property.ts'

/** Some events of one stream. Streams, offsets and the like are indexes modulo the number of existing ones. */
export interface Batch {
  readonly stream: number
  readonly count: number
  readonly style: 'common' | 'unique' | 'both' | 'none'
}

export interface BranchSpec {
  readonly tags: readonly TagSpec[]
  readonly appId?: 'com.example.a' | 'com.example.b' | 'com.example.none'
  readonly own?: boolean
}

export type TagSpec = { readonly common: number } | { readonly unique: number } | { readonly text: string }

export interface QuerySpec {
  readonly anyOf: readonly BranchSpec[]
  readonly order: 'asc' | 'desc' | 'stream-asc'
  /** Lower and upper bounds of the streams, if any. */
  readonly lower: readonly (number | null)[] | null
  readonly upper: readonly (number | null)[] | null
}

export type Write =
  | { readonly kind: 'append'; readonly batches: readonly Batch[] }
  /** Chunk by chunk, each sealed separately, so that there are many index ranges. */
  | { readonly kind: 'append and settle'; readonly stream: number; readonly chunks: number }
  | { readonly kind: 'append at once'; readonly requests: readonly (readonly Batch[])[] }
  | { readonly kind: 'others write'; readonly source: number; readonly batches: readonly Batch[] }
  | { readonly kind: 'others receive'; readonly source: number; readonly from: number }
  | { readonly kind: 'collect'; readonly stream: number; readonly part: number | 'all' }
  | { readonly kind: 'deliver'; readonly picks: readonly number[] }
  | { readonly kind: 'deliver all'; readonly reversed: boolean }
  | { readonly kind: 'settle' }
  | { readonly kind: 'prune'; readonly stream: number; readonly pick: number }
  | {
      readonly kind: 'others prune'
      readonly stream: number
      readonly pick: number
      readonly withHead: boolean
    }
  | { readonly kind: 'redact'; readonly stream: number; readonly offsets: readonly number[] }
  | {
      readonly kind: 'others redact'
      readonly stream: number
      readonly offset: number
      readonly sendsRecord: boolean
    }

export type Step =
  | Write
  | { readonly kind: 'reopen' }
  | { readonly kind: 'query'; readonly query: QuerySpec }
  /** Writes while queries are read: between their pieces, or concurrently. */
  | {
      readonly kind: 'query during'
      readonly queries: readonly QuerySpec[]
      readonly writes: readonly Write[]
      readonly atOnce: boolean
    }

const pick = fc.nat(1_000_000)
const counts = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 5 }) },
  { weight: 2, arbitrary: fc.integer({ min: 6, max: 300 }) },
  { weight: 3, arbitrary: fc.integer({ min: 900, max: 1300 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1300, max: 3000 }) },
)
const batch: fc.Arbitrary<Batch> = fc.record({
  stream: fc.nat(2),
  count: counts,
  style: fc.constantFrom('common', 'unique', 'both', 'both', 'none'),
})
const batches = fc.array(batch, { minLength: 1, maxLength: 3 })
const smallBatches = fc.array(
  batch.map(({ count, ...rest }) => ({ ...rest, count: (count % 40) + 1 })),
  { minLength: 1, maxLength: 2 },
)

const tag: fc.Arbitrary<TagSpec> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ common: fc.nat(7) }) },
  { weight: 3, arbitrary: fc.record({ unique: pick }) },
  { weight: 2, arbitrary: fc.record({ text: fc.constantFrom('all', 'ünï', 'never') }) },
)
const branch: fc.Arbitrary<BranchSpec> = fc.record(
  {
    tags: fc.array(tag, { maxLength: 2 }),
    appId: fc.constantFrom('com.example.a', 'com.example.b', 'com.example.none'),
    own: fc.boolean(),
  },
  { requiredKeys: ['tags'] },
)
const bounds = fc.option(fc.array(fc.option(pick, { freq: 4 }), { minLength: 1, maxLength: 6 }), { freq: 2 })
const query: fc.Arbitrary<QuerySpec> = fc.record({
  anyOf: fc.oneof(
    { weight: 1, arbitrary: fc.constant([{ tags: [] }]) },
    { weight: 3, arbitrary: fc.array(branch, { minLength: 1, maxLength: 3 }) },
  ),
  order: fc.constantFrom('asc', 'desc', 'stream-asc'),
  lower: bounds,
  upper: bounds,
})

const write: fc.Arbitrary<Write> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('append' as const), batches }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('append and settle' as const),
      stream: fc.nat(2),
      chunks: fc.integer({ min: 2, max: tuning.rangesPerMerge + 1 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('append at once' as const),
      requests: fc.array(smallBatches, { minLength: 2, maxLength: 60 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('others write' as const), source: fc.nat(2), batches }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('others receive' as const), source: fc.nat(2), from: fc.nat(3) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('collect' as const),
      stream: pick,
      part: fc.oneof(pick, fc.constant('all' as const)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('deliver' as const),
      picks: fc.array(pick, { minLength: 1, maxLength: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('deliver all' as const), reversed: fc.boolean() }) },
  { weight: 4, arbitrary: fc.constant({ kind: 'settle' as const }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('prune' as const), stream: fc.nat(2), pick }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('others prune' as const),
      stream: pick,
      pick,
      withHead: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('redact' as const),
      stream: fc.nat(2),
      offsets: fc.array(pick, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('others redact' as const),
      stream: pick,
      offset: pick,
      sendsRecord: fc.boolean(),
    }),
  },
)

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: write },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('query' as const), query }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('query during' as const),
      queries: fc.array(query, { minLength: 1, maxLength: 3 }),
      writes: fc.array(write, { minLength: 1, maxLength: 3 }),
      atOnce: fc.boolean(),
    }),
  },
)

/** Starts with enough events for several chunks, so that short sequences are useful, too. */
export const sequences: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.record({ kind: fc.constant('append' as const), batches }),
    fc.record({ kind: fc.constant('others write' as const), source: fc.nat(2), batches }),
    fc.array(step, { minLength: 15, maxLength: 40, size: 'max' }),
  )
  .map(([own, foreign, steps]) => [own, foreign, ...steps])

const everything: QuerySpec = { anyOf: [{ tags: [] }], order: 'asc', lower: null, upper: null }

/**
 * A sequence in which every operation has every outcome: some are rare in random ones. Chunks wait when they arrive out of
 * order after the first one, and a stream of which nothing has arrived is pruned only with the head of its checkpoint.
 */
export const everyOutcome: Step[] = [
  { kind: 'append', batches: [{ stream: 0, count: 3000, style: 'both' }] },
  { kind: 'others write', source: 0, batches: [{ stream: 0, count: 3000, style: 'both' }] },
  { kind: 'collect', stream: 0, part: 'all' },
  { kind: 'deliver all', reversed: true },
  { kind: 'redact', stream: 0, offsets: [2500] },
  { kind: 'others redact', stream: 0, offset: 5, sendsRecord: true },
  { kind: 'reopen' },
  { kind: 'query', query: { ...everything, anyOf: [{ tags: [{ text: 'never' }] }] } },
  { kind: 'query', query: { ...everything, lower: [1], upper: null } },
  { kind: 'query', query: { ...everything, lower: null, upper: [2000] } },
  {
    kind: 'query during',
    queries: [everything],
    writes: [{ kind: 'append', batches: [{ stream: 0, count: 10, style: 'both' }] }],
    atOnce: false,
  },
  { kind: 'query during', queries: [everything], writes: [{ kind: 'prune', stream: 0, pick: 0 }], atOnce: false },
  { kind: 'others write', source: 0, batches: [{ stream: 2, count: 1100, style: 'none' }] },
  { kind: 'others prune', stream: 1, pick: 0, withHead: false },
]
