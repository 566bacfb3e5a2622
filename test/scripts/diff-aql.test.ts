import assert from 'node:assert/strict'
import { test } from 'node:test'
import { comparable, isSame } from '../../scripts/diff-aql/answer.ts'
import { Comparison } from '../../scripts/diff-aql/comparison.ts'
import { exclusions } from '../../scripts/diff-aql/exclusions.ts'
import type { GeneratedQuery } from '../../scripts/diff-aql/generated-query.ts'
import { Side } from '../../scripts/diff-aql/side.ts'
import { parseQuery } from '../../src/aql/index.ts'
import { manifest, sqliteStore, startApi } from '../support/api.ts'

const read = (text: string) => parseQuery(text, { now: 0n })
const rulesOf = (text: string) => exclusions.filter(({ isIn }) => isIn(read(text))).map(({ rule }) => rule)

test('queries on which the reference differs on purpose, or crashes, are skipped', () => {
  const examples: Readonly<Record<string, string>> = {
    R1: "FROM 'a' SELECT FROM 'b' SELECT _ % 2",
    R4: 'FROM [1] SELECT ...[1, 2] LET x := _ SELECT x',
    R5: "FROM 'a' SELECT FROM [...[1]]",
    R8: "FROM 'a' SELECT _.x AGGREGATE LAST(_)",
    R9: "FROM 'a' & ('b' | KEY > 5)",
    R18: "FROM 'a' SELECT { [(_.x)]: 1 }",
    R19: "FROM 'a' LET x := TIME(_) SELECT `{x}`",
    R20: "FROM 'a' LET x := TIME(_) FILTER x = x",
  }
  for (const [rule, text] of Object.entries(examples)) assert.deepEqual(rulesOf(text), [rule], text)
  assert.deepEqual(rulesOf('FROM [1] AGGREGATE SUM(_) LET x := _ AGGREGATE MAX(_)'), ['R4'])
  assert.deepEqual(
    Object.keys(examples),
    exclusions.map(({ rule }) => rule),
  )
})

test('other queries are compared', () => {
  const examples = [
    "FROM ('a' | 'b') & KEY > 5 SELECT _, TIME(_)",
    "FROM 'a' FILTER _.x > 1 LET y := 2 AGGREGATE LAST(_.x)",
    'FROM [1] LET x := _ AGGREGATE SUM(x) AGGREGATE MAX(_) LET x := _',
    'FROM [...[1], 2] LET x := _ SELECT { a: x, [4]: `t{x}` }',
  ]
  for (const text of examples) assert.deepEqual(rulesOf(text), [], text)
})

test('results that differ only in where and when events were stored are equal, results with other events are not', () => {
  const line = (stream: string, lamport: number, x: string) =>
    `{"type":"event","lamport":${lamport},"stream":"${stream}-0","offset":${lamport},"timestamp":${lamport},"payload":${x}}`
  const place = (stream: string, lamport: number) => ({ tag: 'run', lamport, offset: lamport, stream })
  const one = comparable({ status: 200, lines: [line('a'.repeat(43), 17, '2e-6')] }, place('', 17), false)
  const same = comparable({ status: 200, lines: [line('b'.repeat(43), 30, '0.000002')] }, place('', 30), false)
  const next = comparable({ status: 200, lines: [line('b'.repeat(43), 31, '2e-6')] }, place('', 30), false)
  assert.ok(isSame(one, same, true))
  assert.ok(!isSame(one, next, true))
})

test('two nodes with the same events give equal results, with other events different ones', async (t) => {
  const [ours, reference] = [
    await startApi(t, { store: await sqliteStore(t) }),
    await startApi(t, { store: await sqliteStore(t) }),
  ]
  // Their positions differ.
  await ours.publish('{"data":[{"tags":[],"payload":0}]}')
  const sides = await Promise.all([ours, reference].map(({ url }) => Side.open(url, manifest.appId)))
  const events = [1, 2, 3].map((x) => ({ json: `{"x":${x}}`, tags: ['a'], appId: manifest.appId, timestamp: x }))
  const comparison = await Comparison.over(events, 'run', ...(sides as [Side, Side]))
  const ask = (way: GeneratedQuery['way']) =>
    comparison.difference({
      query: read("FROM 'a' & KEY > 1 SELECT _.x, _.y"),
      order: 'desc',
      layout: 'many lines',
      way,
    })
  for (const endpoint of ['query', 'subscribe'] as const) {
    assert.equal(await ask({ kind: 'stored', endpoint, lower: 0, upper: 1 }), undefined)
    assert.equal(await ask({ kind: 'damaged', endpoint, at: 7, change: 'lost' }), undefined)
  }
  await reference.publish('{"data":[{"tags":["a","run"],"payload":{"x":4}}]}')
  const difference = await ask({ kind: 'stored', endpoint: 'query', lower: undefined, upper: undefined })
  assert.equal((difference?.reference.lines.length ?? 0) - (difference?.ours.lines.length ?? 0), 2)
})
