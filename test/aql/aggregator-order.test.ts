import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareExpressions } from '../../src/aql/eval/expression-order.ts'
import { parseQuery } from '../../src/aql/index.ts'
import * as fc from '../support/property.ts'
import { eventsFrom, messagesOf, now } from './eval/run.ts'

const features = 'FEATURES(aggregate subQuery interpolation)'
const events = eventsFrom([{ tags: ['t'], payload: { x: 1 } }])

/** Expressions that fail on a property, in the order in which the reference node reports their failures. */
const inOrder: readonly ((name: string) => string)[] = [
  (name) => `_.${name}`,
  (name) => `(_.x)[('${name}')]`,
  (name) => `\`{_.${name}}\``,
  (name) => `{a: _.${name}}`,
  (name) => `[_.${name}]`,
  (name) => `CASE TRUE => _.${name} ENDCASE`,
  ...['+', '-', '*', '/', '%', '^', '&', '|', '~', '<', '<=', '>', '>=', '=', '!=', '??'].map(
    (operator) => (name: string) => `_.${name} ${operator} _.${name}`,
  ),
  (name) => `!_.${name}`,
]

function failures(...expressions: readonly string[]): string[] {
  const list = expressions.map((expression) => `MAX(${expression})`).join(', ')
  return messagesOf(`${features} FROM 't' AGGREGATE [${list}]`, events)
    .map((message) => JSON.stringify(message))
    .flatMap((text) => /\bfirst\b|\bsecond\b/.exec(text)?.[0] ?? [])
}

test('two failing aggregators report their failures in a fixed order, independent of their position', () => {
  for (const [i, before] of inOrder.entries())
    for (const after of inOrder.slice(i + 1)) {
      const [first, second] = [before('first'), after('second')]
      assert.deepEqual(failures(first, second), ['first', 'second'], `${first} and ${second}`)
      assert.deepEqual(failures(second, first), ['first', 'second'], `${second} and ${first}`)
    }
})

test('expressions of one kind are ordered by their children', () => {
  for (const [before, after] of [
    ['_.first', '_.second'],
    ['_.first.z', '_.second.a'],
    ['_.first + 2', '_.second + 1'],
    ['{a: _.first}', '{a: _.second}'],
    ['{a: _.first}', '{b: _.second}'],
    ['_.second.a', '_.second[1]'],
    ['_.first + 1 + 2', '_.second + 1 + 1'],
  ] as const) {
    assert.ok(compare(before, after) < 0, `${before} and ${after}`)
    assert.ok(compare(after, before) > 0, `${after} and ${before}`)
  }
  assert.deepEqual(failures('_.second', '_.first'), ['first', 'second'])
})

function compare(a: string, b: string): number {
  const exprOf = (text: string) => {
    const [stage] = parseQuery(`${features} FROM 't' SELECT ${text}`, { now }).stages
    assert.ok(stage?.kind === 'select')
    return stage.items[0]?.expr as Parameters<typeof compareExpressions>[0]
  }
  return compareExpressions(exprOf(a), exprOf(b))
}

test('compareExpressions is reflexive, antisymmetric and transitive', () => {
  const leaf = fc.constantFrom(
    '_',
    '_.a',
    '_.b',
    '_.a.b',
    '_.a[1]',
    '1',
    '2.5',
    "'s'",
    'TRUE',
    'NULL',
    '`{_}`',
    'KEY(_)',
  )
  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc
        .tuple(tie('expression'), fc.constantFrom('+', '-', '<', '??'), tie('expression'))
        .map(([left, operator, right]) => `(${left}) ${operator} (${right})`),
      tie('expression').map((operand) => `!(${operand})`),
      tie('expression').map((item) => `[${item}]`),
      tie('expression').map((value) => `{a: ${value}}`),
      tie('expression').map((argument) => `IsDefined(${argument})`),
      tie('expression').map((value) => `CASE TRUE => ${value} ENDCASE`),
    ),
  }))
  fc.assert(
    fc.property(expression, expression, expression, (a, b, c) => {
      assert.equal(compare(a, a), 0)
      assert.equal(Math.sign(compare(a, b)), -Math.sign(compare(b, a)) + 0)
      if (compare(a, b) <= 0 && compare(b, c) <= 0) assert.ok(compare(a, c) <= 0)
    }),
    { numRuns: 500 },
  )
})
