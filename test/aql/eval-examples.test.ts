import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { eventsFrom, type Message, messagesOf, type Options } from './eval/run.ts'

/** The worked examples of the specification, in its notation: `value@where`, `⚠` a warning, `✖` an error. */
const events = eventsFrom([
  { tags: ['t'], payload: { x: 1, s: 'a', n: -5, f: 2.5, arr: [1, 2], o: { k: 'v' }, nul: null, b: true } },
  { tags: ['t'], payload: { x: 2 } },
  { tags: ['t', 'u'], payload: { x: 3, s: 'b' } },
])

const examples: readonly [query: string, ...outcomes: string[]][] = [
  ["FROM 't' SELECT 1", '1@∅', '1@∅', '1@∅'],
  ["FROM 't' SELECT {a:_.x}", '{"a":1}@e0', '{"a":2}@e1', '{"a":3}@e2'],
  ["FROM 't' SELECT _.s", '"a"@e0', '⚠property `s` not found in Object', '"b"@e2'],
  ["FROM 't' SELECT _.s ?? 'none'", '"a"@e0', '"none"@∅', '"b"@e2'],
  ["FROM 't' FILTER _.s = 'a' SELECT _.x", '1@e0', '⚠property `s` not found in Object'],
  ["FROM 't' FILTER (_.s ?? '') = 'a' SELECT _.x", '1@e0'],
  ["FROM 't' FILTER _.x", '⚠…: 1 is not a bool', '⚠…: 2 is not a bool', '⚠…: 3 is not a bool'],
  ["FROM 't' LET a := _.x FILTER a > 1 LET a := a * 10 SELECT a", '20@e1', '30@e2'],
  ["FROM 't' SELECT y LET y := 1", ...Array.from({ length: 3 }, () => '⚠variable `y` is not bound')],
  ["FROM 't' LIMIT 1 SELECT ..._.arr, 'z'", '1@e0', '2@e0', '"z"@∅'],
  ["FROM 't' LIMIT 1 SELECT ..._.x, 'z'", '⚠cannot spread a value of type Number', '"z"@∅'],
  ["FROM 't' LIMIT 1 SELECT [..._.arr, 3]", '[1,2,3]@e0'],
  [
    "FROM 't' LIMIT 1 SELECT _.arr[2], _.arr.k, _.x.y",
    '⚠property `2` not found in Array',
    '⚠property `k` not found in Array',
    '⚠property `y` not found in Number',
  ],
  ["FROM 't' LIMIT 1 SELECT `{_}|{_.arr}|{_.nul}|{_.b}|{_.f}|{_.x}|{1.0}`", '"OBJECT|ARRAY|NULL|TRUE|2.5|1|1.0"@e0'],
  [
    "FROM 't' LIMIT 1 SELECT 7/2, 7/2.0, 2^-1, 3-5, 1/0, 2^64",
    ...['3@∅', '3.5@∅', '0.5@∅', '⚠integer overflow', '⚠division by zero', '⚠integer overflow'],
  ],
  [
    "FROM 't' LIMIT 1 SELECT FALSE & 5, 5 & FALSE, FALSE & _.q",
    ...['false@∅', '⚠synthetic: 5 is not a bool', '⚠property `q` not found in Object'],
  ],
  ["FROM 't' AGGREGATE SUM(_.x)", '6@e0..e2'],
  [
    "FROM 't' AGGREGATE {n: SUM(1), avg: SUM(_.x)/SUM(1), min: MIN(_.x), max: MAX(_.x)}",
    '{"n":3,"avg":2,"max":3,"min":1}@e0..e2',
  ],
  ["FROM 't' AGGREGATE PRODUCT(_.x > 0)", 'true@e0..e2'],
  ["FROM 't' AGGREGATE MIN(_.s)", '⚠property `s` not found in Object', '"a"@e0'],
  ["FROM 't' AGGREGATE LAST(_.s)", '"b"@e2'],
  [
    "FROM 't' AGGREGATE SUM(_.s)",
    '⚠property `s` not found in Object',
    '⚠incompatible types in sum: `a` is not of type Number',
  ],
  ["FROM 'none' AGGREGATE SUM(_)", '⚠no value added'],
  ["FROM 'none' AGGREGATE SUM(_) ?? 0", '0@∅'],
  ["FROM 'none' AGGREGATE 42", '42@∅'],
  ["FROM 't' LET y := _.x AGGREGATE SUM(1) + y", '⚠variable `y` is not bound'],
  ["FROM 't' AGGREGATE (FROM 't' AGGREGATE SUM(_.x))[0] + SUM(1)", '9@e0..e2'],
  ["FROM 't' LIMIT 1 SELECT (FROM 'none')[0]", '⚠property `0` not found in Array'],
  ["FROM 't' LIMIT 1 SELECT FROM 'u' SELECT _.q", '⚠property `q` not found in Object'],
  ["FROM 't' LIMIT 1 SELECT TAGS(_), APP(_)", '["t"]@e0', '["com.example.test"]@e0'],
  ['FROM [...[1,2]]', '1@∅', '2@∅'],
  ['FROM [TRUE,FALSE] AGGREGATE [SUM(_),PRODUCT(_),MIN(_),MAX(_)]', '[true,false,false,true]@∅'],
  ["FROM 't' LIMIT 1 SELECT [..._.x, _.q]", '⚠cannot spread a value of type Number'],
  ["FROM 't' SELECT (FROM 'u' SELECT _.q)[0] ?? 'caught' LIMIT 1", '"caught"@∅'],
]

/** Examples that fail before the end: no `offsets` message follows. */
const cut: readonly [query: string, ...outcomes: string[]][] = [
  ['FROM `{q}`', '✖variable `q` is not bound'],
  ['FROM [...1]', '⚠cannot spread a value of type Number'],
  ['FROM [1, x, 2]', '1@∅', '⚠variable `x` is not bound'],
]

function outcomesOf(query: string, options: Options = {}): string[] {
  return messagesOf(query, events, options).map(inNotation)
}

interface Spanning extends Message {
  readonly fromKey: { readonly offset: number }
  readonly toKey: { readonly offset: number }
}

function inNotation(message: Message): string {
  const { type, severity, message: text = '', payload, timestamp, offset } = message
  if (type === 'offsets') return type
  if (type === 'diagnostic') return `${severity === 'error' ? '✖' : '⚠'}${text.replace(/^\d+\/.*@.*?: /, '…: ')}`
  const value = JSON.stringify(payload)
  if ('fromKey' in message) {
    const { fromKey, toKey } = message as Spanning
    return `${value}@e${fromKey.offset}..e${toKey.offset}`
  }
  return `${value}@${timestamp === 0 ? '∅' : `e${offset}`}`
}

describe('worked examples', () => {
  for (const [query, ...outcomes] of examples)
    test(query, () => assert.deepEqual(outcomesOf(query), [...outcomes, 'offsets']))

  for (const [query, ...outcomes] of cut) test(query, () => assert.deepEqual(outcomesOf(query), outcomes))

  const numbers = eventsFrom([1, 2, 3].map((payload) => ({ payload })))
  const limited: readonly [query: string, ...outcomes: string[]][] = [
    ['LIMIT 2 AGGREGATE FIRST(CASE _ = 2 => _ ENDCASE)', '⚠no case matched', '2@e1'],
    ['LIMIT 2 AGGREGATE LAST(CASE _ = 1 => _ ENDCASE)', ...['⚠no case matched', '⚠no case matched', '⚠no value added']],
    ['ORDER ASC LIMIT 2 AGGREGATE LAST(CASE _ = 1 => _ ENDCASE)', '1@e0', '⚠no case matched'],
  ]
  for (const [stages, ...outcomes] of limited) {
    test(`FROM appId(me) ${stages}`, () => {
      const messages = messagesOf(`FROM appId(me) ${stages}`, numbers, { order: 'stream-asc' })
      assert.deepEqual(messages.map(inNotation).sort(), [...outcomes, 'offsets'].sort())
    })
  }

  test('open orders: those without an event that completes them', () => {
    const orders = eventsFrom([
      { tags: ['order', 'created', 'order:1'], payload: { id: 1 } },
      { tags: ['order', 'created', 'order:2'], payload: { id: 2 } },
      { tags: ['order', 'completed', 'order:1'], payload: { id: 1 } },
    ])
    const query =
      "FROM 'order' & 'created' FILTER !IsDefined((FROM 'order' & `order:{_.id}` & 'completed')[0]) SELECT _.id"
    assert.deepEqual(messagesOf(query, orders).map(inNotation), ['2@e1', 'offsets'])
  })
})
