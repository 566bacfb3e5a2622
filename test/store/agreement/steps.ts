import * as fc from '../../support/property.ts'

/** Streams, chunks and offsets are indexes modulo the number of existing ones. */
export type Step =
  | { readonly kind: 'publish'; readonly stream: number; readonly count: number; readonly tag: Tag }
  | { readonly kind: 'publish to all'; readonly count: number; readonly tag: Tag }
  | { readonly kind: 'write elsewhere'; readonly node: number; readonly count: number; readonly tag: Tag }
  /** Including duplicate and early chunks, and chunks that were signed before more was written. */
  | { readonly kind: 'receive'; readonly pick: number }
  | { readonly kind: 'receive next'; readonly node: number }
  | { readonly kind: 'prune'; readonly stream: number; readonly pick: number }
  | { readonly kind: 'prune elsewhere'; readonly node: number; readonly pick: number; readonly withHead: boolean }
  | { readonly kind: 'redact'; readonly stream: number; readonly offset: number }
  | { readonly kind: 'redact elsewhere'; readonly node: number; readonly offset: number }
  | { readonly kind: 'seal' }
  | { readonly kind: 'query'; readonly spec: QuerySpec }
  | { readonly kind: 'subscribe'; readonly spec: QuerySpec; readonly monotonic: boolean }

export type Tag = 'a' | 'b'

export interface QuerySpec {
  readonly tags: string
  readonly stages: string
  readonly order: 'asc' | 'desc' | 'stream-asc'
  /** Bounds of the streams, as fractions of their length; no entry means no bound. */
  readonly lower: readonly number[]
  readonly upper: readonly number[] | null
}

const pick = fc.nat(1_000_000)
const tag = fc.constantFrom<Tag[]>('a', 'b')
const count = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 8 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1000, max: 1300 }) },
)
const parts = fc.array(fc.double({ min: 0, max: 1.2, noNaN: true }), { maxLength: 4 })
const querySpec: fc.Arbitrary<QuerySpec> = fc.record({
  tags: fc.constantFrom(
    'allEvents',
    "'a'",
    "'a' | 'b'",
    "'a' & 'b'",
    "'a' & isLocal",
    'appId(com.example.b)',
    "'b' & appId(com.example.a)",
    "'of7:3'",
    'KEY >= 20 & KEY < 1100',
  ),
  stages: fc.constantFrom('', ' FILTER _ % 3 = 1', ' FILTER _ > 5 SELECT [_, _ * 2]', ' SELECT _ / (_ - 4)'),
  order: fc.constantFrom('asc', 'desc', 'stream-asc'),
  lower: fc.oneof(fc.constant([]), parts),
  upper: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: parts }),
})

const kind = <K extends Step['kind']>(name: K) => ({ kind: fc.constant(name) })
const node = fc.nat(1)
const stream = fc.nat(2)

/** Enough events for checkpoints to prune to, and chunks to seal and to receive. */
export const firstSteps: readonly Step[] = [
  { kind: 'publish', stream: 0, count: 1100, tag: 'a' },
  { kind: 'write elsewhere', node: 0, count: 1030, tag: 'b' },
  { kind: 'write elsewhere', node: 1, count: 20, tag: 'a' },
]

const everything: QuerySpec = { tags: 'allEvents', stages: '', order: 'asc', lower: [], upper: null }

/** Steps at the end of every sequence. */
export const lastSteps: readonly Step[] = [
  { kind: 'subscribe', spec: everything, monotonic: false },
  { kind: 'receive next', node: 0 },
  { kind: 'redact', stream: 0, offset: 1060 },
  { kind: 'prune', stream: 0, pick: 1 },
  { kind: 'seal' },
  { kind: 'query', spec: everything },
]

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ ...kind('publish'), stream, count, tag }) },
    { weight: 2, arbitrary: fc.record({ ...kind('publish to all'), count: fc.integer({ min: 1, max: 9 }), tag }) },
    { weight: 3, arbitrary: fc.record({ ...kind('write elsewhere'), node, count, tag }) },
    { weight: 2, arbitrary: fc.record({ ...kind('receive'), pick }) },
    { weight: 5, arbitrary: fc.record({ ...kind('receive next'), node }) },
    { weight: 2, arbitrary: fc.record({ ...kind('prune'), stream, pick }) },
    { weight: 1, arbitrary: fc.record({ ...kind('prune elsewhere'), node, pick, withHead: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ ...kind('redact'), stream, offset: pick }) },
    { weight: 1, arbitrary: fc.record({ ...kind('redact elsewhere'), node, offset: pick }) },
    { weight: 1, arbitrary: fc.record(kind('seal')) },
    { weight: 6, arbitrary: fc.record({ ...kind('query'), spec: querySpec }) },
    { weight: 3, arbitrary: fc.record({ ...kind('subscribe'), spec: querySpec, monotonic: fc.boolean() }) },
  ),
  { minLength: 4, maxLength: 24, size: 'max' },
)
