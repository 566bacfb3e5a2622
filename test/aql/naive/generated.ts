import type { AggregateOperator, BinaryOperator, Expr, Query, Stage, TagAtom, TagExpr } from '../../../src/aql/ast.ts'
import * as fc from '../../support/property.ts'
import type { TestEvent } from '../eval/run.ts'

/** Generates queries that mostly match the events below, and sometimes fail. */
const tags = ['a', 'b', 'c', '1', '2']
const fields = ['x', 'y', 's', 'list', 'inner', 'flag', 'missing']

const payloads = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record(
      {
        x: fc.oneof(
          fc.nat(5),
          fc.constantFrom(-3, 2.5, '@1e20', '@2.0', '@-0.0', '@18446744073709551615', '@9007199254740993'),
        ),
        y: fc.nat(3),
        s: fc.constantFrom('a', 'b', 'ü', '😀', '\ufffd'),
        list: fc.array(fc.nat(3), { maxLength: 3 }),
        inner: fc.record({ x: fc.nat(3) }),
        flag: fc.boolean(),
      },
      { requiredKeys: ['x', 'y', 'flag'] },
    ),
  },
  fc.nat(5),
  fc.constantFrom(null, 'text', true, [1, 2]),
)

export const someEvents: fc.Arbitrary<TestEvent[]> = fc.array(
  fc.record({
    // A string that begins with @ is a number whose spelling is kept.
    json: payloads.map((payload) => JSON.stringify(payload).replaceAll(/"@([^"]*)"/g, '$1')),
    tags: fc.uniqueArray(fc.constantFrom(...tags), { maxLength: 3 }),
    appId: fc.constantFrom('com.example.test', 'other'),
    timestamp: fc.nat(10),
  }),
  { minLength: 1, maxLength: 10, size: '+1' },
)

const names = ['_', 'v', 'w']
const operators: readonly BinaryOperator[] = [
  ...(['??', '|', '~', '&', '=', '!=', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', '^'] as const),
]
const aggregators: readonly AggregateOperator[] = ['SUM', 'PRODUCT', 'MIN', 'MAX', 'FIRST', 'LAST']
const variable = (name: string): Expr => ({ kind: 'variable', name })
const string = (value: string): Expr => ({ kind: 'string', value })

function leaves(variables: readonly string[]): fc.Arbitrary<Expr> {
  const literals = fc.oneof(
    fc.bigInt({ min: 0n, max: 4n }).map((value): Expr => ({ kind: 'natural', value })),
    fc.constantFrom(2n ** 53n, 2n ** 64n - 1n).map((value): Expr => ({ kind: 'natural', value })),
    fc.constantFrom(1, 0.5, -2, 1e300).map((value): Expr => ({ kind: 'decimal', value })),
    fc.constantFrom('a', 'b', '').map(string),
    fc.constantFrom<Expr>({ kind: 'null' }, { kind: 'bool', value: true }, { kind: 'bool', value: false }),
  )
  if (variables.length === 0) return literals
  // Mostly bound variables, because queries that only use unbound ones test little.
  const ones = fc.oneof({ weight: 4, arbitrary: fc.constant('_') }, fc.constantFrom(...variables))
  return fc.oneof(
    literals,
    ones.map(variable),
    {
      weight: 4,
      arbitrary: fc
        .tuple(ones, fc.constantFrom(...fields))
        .map(([name, field]): Expr => ({ kind: 'index', head: variable(name), path: [string(field)] })),
    },
    fc
      .tuple(ones, fc.constantFrom('time' as const, 'tags' as const, 'app' as const))
      .map(([name, what]): Expr => ({ kind: 'meta', what, variable: name })),
  )
}

/** Expressions with these variables in scope. `parts` are additional operands. */
function expressions(
  variables: readonly string[],
  depth: number,
  parts: fc.Arbitrary<Expr>[] = [],
): fc.Arbitrary<Expr> {
  const leaf = fc.oneof(leaves(variables), ...parts)
  if (depth === 0) return leaf
  const below = expressions(variables, depth - 1, parts)
  const single = below.filter(({ kind }) => kind !== 'chain')
  const items = fc.array(fc.record({ spread: fc.boolean(), expr: below }), { maxLength: 2 })
  return fc.oneof(
    { weight: 2, arbitrary: leaf },
    {
      weight: 4,
      arbitrary: fc
        .tuple(
          single,
          fc.array(fc.record({ operator: fc.constantFrom(...operators), operand: below }), {
            minLength: 1,
            maxLength: 2,
          }),
        )
        .map(([first, rest]): Expr => ({ kind: 'chain', first, rest })),
    },
    items.map((list): Expr => ({ kind: 'array', items: list })),
    fc
      .array(fc.record({ key: fc.oneof(fc.constantFrom('b', 'aa', '4').map(string), below), value: below }), {
        maxLength: 2,
      })
      .map((entries): Expr => ({ kind: 'object', entries })),
    fc
      .array(fc.record({ condition: below, value: below }), { minLength: 1, maxLength: 2 })
      .map((clauses): Expr => ({ kind: 'case', clauses })),
    fc
      .array(below, { minLength: 1, maxLength: 2 })
      .map((values): Expr => ({ kind: 'template', parts: ['t', ...values] })),
    below.map((operand): Expr => ({ kind: 'not', operand })),
    below.map((argument): Expr => ({ kind: 'call', name: 'IsDefined', arguments: [argument] })),
    fc.tuple(single, below).map(([head, step]): Expr => ({ kind: 'index', head, path: [step] })),
    ...(variables.length === 0 ? [] : [queries(depth - 1, variables).map((query): Expr => ({ kind: 'query', query }))]),
  )
}

function conditions(outer: readonly string[], depth: number): fc.Arbitrary<TagExpr> {
  const inequality = fc.constantFrom('<' as const, '<=' as const, '>' as const, '>=' as const)
  const stream = { node: '.'.repeat(43), number: 0n }
  const atoms: fc.Arbitrary<TagAtom> = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...tags).map((tag): TagAtom => ({ kind: 'tag', tag })) },
    { weight: 3, arbitrary: fc.constant<TagAtom>({ kind: 'allEvents' }) },
    fc.constantFrom<TagAtom>({ kind: 'isLocal' }, { kind: 'appId', appId: 'me' }),
    fc
      .tuple(inequality, fc.bigInt({ min: 0n, max: 10n }))
      .map(([comparison, time]): TagAtom => ({ kind: 'time', comparison, time })),
    fc
      .tuple(inequality, fc.bigInt({ min: 0n, max: 9n }))
      .map(([comparison, lamport]): TagAtom => ({ kind: 'key', comparison, key: { lamport, stream } })),
    leaves(outer).map((part): TagAtom => ({ kind: 'template', parts: [part] })),
  )
  if (depth <= 0) return atoms
  const below = conditions(outer, depth - 1)
  const rest = fc.array(fc.record({ operator: fc.constantFrom('and' as const, 'or' as const), operand: below }), {
    minLength: 1,
    maxLength: 3,
  })
  return fc.oneof(
    atoms,
    fc.tuple(atoms, rest).map(([first, links]): TagExpr => ({ kind: 'chain', first, rest: links })),
  )
}

const field = (name: string): Expr => ({ kind: 'index', head: variable('_'), path: [string(name)] })
const link = (operator: BinaryOperator, operand: Expr) => ({ operator, operand })

/** Tag expressions that select some of the events. */
const sensible: fc.Arbitrary<Expr> = fc.oneof(
  fc.tuple(fc.constantFrom('x', 'y'), fc.constantFrom('<', '=', '>=', '!='), fc.bigInt({ min: 0n, max: 4n })).map(
    ([name, operator, value]): Expr => ({
      kind: 'chain',
      first: field(name),
      rest: [link('??', { kind: 'natural', value: 2n }), link(operator, { kind: 'natural', value })],
    }),
  ),
  fc
    .boolean()
    .map((value): Expr => ({ kind: 'chain', first: field('flag'), rest: [link('??', { kind: 'bool', value })] })),
)

function queries(depth: number, outer: readonly string[]): fc.Arbitrary<Query> {
  const expr = expressions(names, Math.max(depth, 0))
  const fed = fc.oneof(expr, fc.constantFrom('x', 'y').map(field), sensible)
  const argument = fc.record({ operator: fc.constantFrom(...aggregators), argument: fed })
  const aggregator = argument.map((parts): Expr => ({ kind: 'aggregator', ...parts }))
  const items = fc.array(fc.record({ spread: fc.boolean(), expr }), { minLength: 1, maxLength: 2 })
  const stages: fc.Arbitrary<Stage> = fc.oneof(
    sensible.map((condition): Stage => ({ kind: 'filter', condition })),
    expr.map((condition): Stage => ({ kind: 'filter', condition })),
    aggregator.map((frame): Stage => ({ kind: 'aggregate', expr: frame })),
    items.map((list): Stage => ({ kind: 'select', items: list })),
    fc.bigInt({ min: 1n, max: 3n }).map((count): Stage => ({ kind: 'limit', count })),
    fc.tuple(fc.constantFrom(...names), expr).map(([name, value]): Stage => ({ kind: 'let', name, expr: value })),
    expressions([], Math.min(depth, 1), [aggregator]).map((frame): Stage => ({ kind: 'aggregate', expr: frame })),
  )
  const inside = expressions(outer, Math.max(depth - 1, 0))
  return fc.record({
    source: fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant('events' as const),
          tags: conditions(outer, 2),
          order: fc.constantFrom(undefined, undefined, 'asc' as const, 'desc' as const),
        }),
      },
      fc.record({
        kind: fc.constant('array' as const),
        items: fc.array(fc.record({ spread: fc.boolean(), expr: inside }), { maxLength: 3 }),
      }),
    ),
    stages: fc.array(stages, { maxLength: 4 }),
  })
}

export const someQueries = queries(2, [])
