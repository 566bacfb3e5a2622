import type {
  AggregateOperator,
  BinaryOperator,
  EventKeyLiteral,
  Expr,
  Item,
  MainQuery,
  Query,
  Source,
  Stage,
  TagAtom,
  TagExpr,
  Template,
} from '../../src/aql/index.ts'
import * as fc from '../support/property.ts'

const binaryOperators: readonly BinaryOperator[] = [
  ...(['??', '|', '~', '&', '=', '!=', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', '^'] as const),
]
const aggregators: readonly AggregateOperator[] = ['SUM', 'PRODUCT', 'MIN', 'MAX', 'FIRST', 'LAST']

const naturals = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const texts = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ maxLength: 8, unit: 'binary' }),
  fc.constantFrom("'", '"', '`', '{', '}', '--', 'a\nb', '\r', '{U+41}', '_', 'FROM'),
)
const names = fc.constantFrom('_', 'x', 'foo', 'iIö', 'PσΔ', 'Foo', 'null', 'from', 'ⓐ', 'a1_b')
/** Up to 9999-12-31T23:59:59.999999-23:59. */
const times = fc.oneof(
  fc.bigInt({ min: 0n, max: 253_402_387_139_999_999n }),
  fc.nat(20_000).map((days) => BigInt(days) * 86_400_000_000n),
  fc.nat(2 ** 31).map((seconds) => BigInt(seconds) * 1_000_000n),
)
const base64 = [...'./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
const keys: fc.Arbitrary<EventKeyLiteral> = fc.record({
  lamport: naturals,
  stream: fc.record({
    node: fc
      .tuple(
        fc.string({ unit: fc.constantFrom(...base64), minLength: 42, maxLength: 42 }),
        fc.constantFrom(...base64.filter((_, i) => i % 4 === 0)),
      )
      .map((parts) => parts.join('')),
    number: naturals,
  }),
})
const inequalities = fc.constantFrom('<' as const, '<=' as const, '>' as const, '>=' as const)

const scalars: fc.Arbitrary<Expr> = fc.oneof(
  naturals.map((value) => ({ kind: 'natural' as const, value })),
  fc.double({ noNaN: true }).map((value) => ({ kind: 'decimal' as const, value })),
  fc.integer().map((value) => ({ kind: 'decimal' as const, value })),
  texts.map((value) => ({ kind: 'string' as const, value })),
  fc.constant({ kind: 'null' as const }),
  fc.boolean().map((value) => ({ kind: 'bool' as const, value })),
  names.map((name) => ({ kind: 'variable' as const, name })),
  fc.record({
    kind: fc.constant('meta' as const),
    what: fc.constantFrom('key', 'time', 'tags', 'app'),
    variable: names,
  }),
  keys.map((key) => ({ kind: 'keyLiteral' as const, key })),
  times.map((time) => ({ kind: 'timeLiteral' as const, time })),
)

const { expr, query } = fc.letrec<{ expr: Expr; operand: Expr; query: Query; template: Template; tags: TagExpr }>(
  (tie) => {
    const items: fc.Arbitrary<Item[]> = fc.array(fc.record({ spread: fc.boolean(), expr: tie('expr') }), {
      maxLength: 3,
    })
    const someItems = items.filter((list) => list.length > 0)
    const bracketed: fc.Arbitrary<Expr> = fc.oneof(
      texts.map((value) => ({ kind: 'string' as const, value })),
      naturals.map((value) => ({ kind: 'natural' as const, value })),
      tie('expr').map(computed),
    )
    const compounds: fc.Arbitrary<Expr> = fc.oneof(
      tie('template').map((parts) => ({ kind: 'template' as const, parts })),
      fc
        .record({ head: tie('expr'), path: fc.array(bracketed, { minLength: 1, maxLength: 3 }) })
        .map((index) => ({ kind: 'index' as const, ...index })),
      fc
        .array(fc.record({ key: bracketed, value: tie('expr') }), { maxLength: 3 })
        .map((entries) => ({ kind: 'object' as const, entries })),
      items.map((list) => ({ kind: 'array' as const, items: list })),
      fc
        .array(fc.record({ condition: tie('expr'), value: tie('expr') }), { minLength: 1, maxLength: 3 })
        .map((clauses) => ({ kind: 'case' as const, clauses })),
      fc
        .record({ operator: fc.constantFrom(...aggregators), argument: tie('expr') })
        .map((aggregator) => ({ kind: 'aggregator' as const, ...aggregator })),
      tie('query').map((nested) => ({ kind: 'query' as const, query: nested })),
      fc
        .record({ name: fc.constantFrom('IsDefined', 'Fÿnc'), arguments: fc.array(tie('expr'), { maxLength: 3 }) })
        .map((call) => ({ kind: 'call' as const, ...call })),
      tie('expr').map((operand) => ({ kind: 'not' as const, operand })),
    )
    const steps = fc.array(fc.record({ operator: fc.constantFrom(...binaryOperators), operand: tie('expr') }), {
      minLength: 1,
      maxLength: 4,
    })
    const tagAtoms: fc.Arbitrary<TagAtom> = fc.oneof(
      texts.filter((tag) => tag !== '').map((tag) => ({ kind: 'tag' as const, tag: tag.normalize('NFC') })),
      tie('template').map((parts) => ({ kind: 'template' as const, parts })),
      fc.constantFrom({ kind: 'allEvents' as const }, { kind: 'isLocal' as const }),
      fc.constantFrom('me', 'com.example-1', '-').map((appId) => ({ kind: 'appId' as const, appId })),
      fc.record({ kind: fc.constant('time' as const), comparison: inequalities, time: times }),
      fc.record({ kind: fc.constant('key' as const), comparison: inequalities, key: keys }),
    )
    const tagSteps = fc.array(
      fc.record({ operator: fc.constantFrom('and' as const, 'or' as const), operand: tie('tags') }),
      { minLength: 1, maxLength: 4 },
    )
    const sources: fc.Arbitrary<Source> = fc.oneof(
      fc.record({
        kind: fc.constant('events' as const),
        tags: tie('tags'),
        order: fc.constantFrom(undefined, 'asc' as const, 'desc' as const, 'stream-asc' as const),
      }),
      items.map((list) => ({ kind: 'array' as const, items: list })),
    )
    const stages: fc.Arbitrary<Stage> = fc.oneof(
      tie('expr').map((condition) => ({ kind: 'filter' as const, condition })),
      someItems.map((list) => ({ kind: 'select' as const, items: list })),
      tie('expr').map((frame) => ({ kind: 'aggregate' as const, expr: frame })),
      naturals.filter((count) => count > 0n).map((count) => ({ kind: 'limit' as const, count })),
      fc.record({ kind: fc.constant('let' as const), name: names, expr: tie('expr') }),
    )
    return {
      operand: fc.oneof({ maxDepth: 4, depthIdentifier: 'tree' }, scalars, compounds),
      expr: fc.oneof(
        { maxDepth: 4, depthIdentifier: 'tree' },
        tie('operand'),
        fc.record({ first: tie('operand'), rest: steps }).map((chain) => ({ kind: 'chain' as const, ...chain })),
      ),
      template: fc.array(fc.oneof(texts, tie('expr')), { maxLength: 4 }).map(normalised),
      tags: fc.oneof(
        { maxDepth: 4, depthIdentifier: 'tree' },
        tagAtoms,
        fc.record({ first: tagAtoms, rest: tagSteps }).map((chain) => ({ kind: 'chain' as const, ...chain })),
      ),
      query: fc.record({ source: sources, stages: fc.array(stages, { maxLength: 3 }) }),
    }
  },
)

/** A computed index that is a literal is marked by parentheses. */
function computed(key: Expr): Expr {
  return key.kind === 'string' || key.kind === 'natural' ? { kind: 'chain', first: key, rest: [] } : key
}

/** Adjacent literal texts are merged, as the parser does. */
function normalised(parts: Template): Template {
  const joined: (string | Expr)[] = []
  for (const part of parts) {
    const text = typeof part === 'string' ? part : part.kind === 'string' ? part.value : undefined
    const last = joined.at(-1)
    if (text === undefined) joined.push(part)
    else if (typeof last === 'string') joined[joined.length - 1] = last + text
    else if (text !== '') joined.push(text)
  }
  return joined
}

const words = fc.constantFrom('aggregate', 'zøg', 'a1')
const pragmaValues = fc.oneof(
  fc.constantFrom('', 'y ', ' y', 'a\nb', '\n', 'a\r', '\r', '-- no comment', 'ENDPRAGMA', 'ENDPRAGMA\nx'),
  fc.string({ maxLength: 10 }).map((value) => value.replace(/ENDPRAGMA/g, '')),
)

/** Any expression, without static checks. */
export const exprs: fc.Arbitrary<Expr> = expr.map((tree) => structuredClone(tree))

/** Any query, without static checks: not all of them can run. */
export const queries: fc.Arbitrary<MainQuery> = fc
  .record({
    query,
    pragmas: fc.array(fc.record({ name: words, value: pragmaValues }), { maxLength: 2 }),
    features: fc.array(words, { maxLength: 2 }),
  })
  .map(({ query: tree, pragmas, features }) => structuredClone({ ...tree, pragmas, features }))
