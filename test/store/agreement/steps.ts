import * as fc from '../../support/property.ts'

/** Streams, chunks, offsets and the like are numbers that are taken modulo how many there are. */
export type Step =
  | { readonly kind: 'publish'; readonly stream: number; readonly count: number; readonly tag: Tag }
  | { readonly kind: 'publish to all'; readonly count: number; readonly tag: Tag }
  | { readonly kind: 'write elsewhere'; readonly node: number; readonly count: number; readonly tag: Tag }
  /** With the same chunk again, chunks that are ahead, and chunks that were signed before more was written. */
  | { readonly kind: 'receive'; readonly pick: number }
  | { readonly kind: 'receive next'; readonly node: number }
  | { readonly kind: 'prune'; readonly stream: number; readonly pick: number }
  | { readonly kind: 'prune elsewhere'; readonly node: number; readonly pick: number; readonly withHead: boolean }
  | { readonly kind: 'redact'; readonly stream: number; readonly offset: number }
  | { readonly kind: 'redact elsewhere'; readonly node: number; readonly offset: number }
  | { readonly kind: 'seal' }
  | { readonly kind: 'query'; readonly asked: Question }
  | { readonly kind: 'subscribe'; readonly asked: Question; readonly monotonic: boolean }

export type Tag = 'a' | 'b'

export interface Question {
  readonly tags: string
  readonly stages: string
  readonly order: 'asc' | 'desc' | 'stream-asc'
  /** Where to begin and to end in each stream in turn, as parts of what is there; nothing is no bound. */
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
const question: fc.Arbitrary<Question> = fc.record({
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

/** So much that there are checkpoints to prune to, and chunks to seal and to receive. */
export const firstSteps: readonly Step[] = [
  { kind: 'publish', stream: 0, count: 1100, tag: 'a' },
  { kind: 'write elsewhere', node: 0, count: 1030, tag: 'b' },
  { kind: 'write elsewhere', node: 1, count: 20, tag: 'a' },
]

const everything: Question = { tags: 'allEvents', stages: '', order: 'asc', lower: [], upper: null }

/** What has to happen in every sequence. */
export const lastSteps: readonly Step[] = [
  { kind: 'subscribe', asked: everything, monotonic: false },
  { kind: 'receive next', node: 0 },
  { kind: 'redact', stream: 0, offset: 1060 },
  { kind: 'prune', stream: 0, pick: 1 },
  { kind: 'seal' },
  { kind: 'query', asked: everything },
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
    { weight: 6, arbitrary: fc.record({ ...kind('query'), asked: question }) },
    { weight: 3, arbitrary: fc.record({ ...kind('subscribe'), asked: question, monotonic: fc.boolean() }) },
  ),
  { minLength: 4, maxLength: 24, size: 'max' },
)
