import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readArguments } from '../../bench/load/arguments.ts'
import { bursts } from '../../bench/load/bursts.ts'
import { everyday } from '../../bench/load/everyday.ts'
import { isMet } from '../../bench/load/goals.ts'
import { type Check, ratioAtLeast, ratioAtMost, ratioOrWithin } from '../../bench/load/profile.ts'
import { table } from '../../bench/load/table.ts'

const rounds = (figure: string, values: readonly number[]) => values.map((value) => ({ [figure]: value }))

function met(check: Check, figure: string, ours: readonly number[], reference?: readonly number[], empty?: number) {
  return isMet(check, figure, {
    ours: rounds(figure, ours),
    reference: reference && rounds(figure, reference),
    emptyStore: empty === undefined ? {} : { [figure]: empty },
  })
}

test('a ratio goal is compared with the median of the ratios of the rounds', () => {
  assert.equal(met(ratioAtMost(0.5), 'a_ms', [4, 1, 9], [10, 10, 10]), true)
  assert.equal(met(ratioAtMost(0.5), 'a_ms', [6, 1, 9], [10, 10, 10]), false)
  assert.equal(met(ratioAtLeast(2), 'a_events_s', [20, 20, 1], [10, 10, 10]), true)
  assert.equal(met(ratioAtLeast(2), 'a_events_s', [19, 20, 1], [10, 10, 10]), false)
})

test('a time within the allowed milliseconds of an empty store meets its goal, whatever the reference reaches', () => {
  assert.equal(met(ratioOrWithin(0.5, 1), 'a_ms', [3], [1], 2), true)
  assert.equal(met(ratioOrWithin(0.5, 1), 'a_ms', [3.1], [1], 2), false)
  assert.equal(met(ratioOrWithin(0.5, 1), 'a_ms', [3.1], [10], 2), true)
})

test('a goal that cannot be checked is neither met nor missed', () => {
  assert.equal(met(ratioAtMost(0.5), 'a_ms', [1]), undefined)
  assert.equal(met(ratioAtMost(0.5), 'a_ms', [1], [Number.NaN]), undefined)
})

test('figures are compared with a limit, or with another figure of the same round', () => {
  const memory: Check = { kind: 'absolute', is: '≤', value: 350, unit: 'MB' }
  assert.equal(met(memory, 'memory_mb', [350]), true)
  assert.equal(met(memory, 'memory_mb', [351]), false)
  const share: Check = { kind: 'own', is: '≥', value: 0.8, of: 'b' }
  const all = (a: number) => ({ ours: [{ a, b: 100 }], reference: undefined, emptyStore: {} })
  assert.equal(isMet(share, 'a', all(80)), true)
  assert.equal(isMet(share, 'a', all(79)), false)
})

test('the table shows the median and the worst ratio, and marks missed goals', () => {
  const ours = [
    { events: 1, a_ms: 1, b_events_s: 30 },
    { events: 1, a_ms: 2, b_events_s: 10 },
    { events: 1, a_ms: 9, b_events_s: 20 },
  ]
  const reference = ours.map(() => ({ a_ms: 10, b_events_s: 10 }))
  const goals = { a_ms: [ratioAtMost(0.5)], b_events_s: [ratioAtLeast(3)] }
  const lines = table({ ours, others: [{ name: 'ref', rounds: reference }], emptyStore: {}, goals }).split('\n')
  assert.deepEqual(
    lines.map((line) => line.trim().split(/\s{2,}/)),
    [
      ['shoal', 'ref', 'ratio', 'worst', 'goal'],
      ['a_ms ↓', '2', '10', '0.20 ×', '0.90 ×', '≤ 0.5', '✔'],
      ['b_events_s ↑', '20', '10', '2.00 ×', '1.00 ×', '≥ 3', '✘'],
      [''],
      ['Goals missed (✘): 1.'],
    ],
  )
})

test('a query that a node refuses has no ratio', () => {
  const lines = table({
    ours: [{ a_ms: 1 }],
    others: [{ name: 'ref', rounds: [{ a_ms: Number.NaN }] }],
    emptyStore: {},
    goals: { a_ms: [ratioAtMost(1)] },
  })
  assert.match(lines, /a_ms ↓ +1 +– +– +– +≤ 1\n/)
})

test('every goal and every query of an empty store is of a figure that the program prints', () => {
  for (const profile of [bursts, everyday]) {
    const program = readFileSync(join(import.meta.dirname, '../../bench', profile.program), 'utf8')
    for (const figure of [...Object.keys(profile.goals(100_000)), ...Object.keys(profile.emptyStoreQueries)])
      assert.match(program, new RegExp(`result\\.${figure} = `), figure)
    for (const [figure, checks] of Object.entries(profile.goals(100_000)))
      for (const check of checks)
        if (check.kind === 'ratio' && check.orWithinMs !== undefined)
          assert.ok(Object.hasOwn(profile.emptyStoreQueries, figure), figure)
  }
})

test('other nodes are given with a name, a process and a data folder', () => {
  const exec = '--other-exec=ip netns exec there'
  const { others } = readArguments(['--other', 'ref=http://127.0.0.1:4454,12,/a/b', '--other', 'b=http://h:1', exec])
  assert.deepEqual(others, [
    { name: 'ref', url: 'http://127.0.0.1:4454', pid: '12', data: '/a/b', exec: ['ip', 'netns', 'exec', 'there'] },
    { name: 'b', url: 'http://h:1', exec: ['ip', 'netns', 'exec', 'there'] },
  ])
})

test('by default both profiles are measured in five rounds with 100,000 events', () => {
  const { profiles, rounds, events } = readArguments([])
  assert.deepEqual([profiles, rounds, events], [[bursts, everyday], 5, 100_000])
  assert.deepEqual(readArguments(['--profile', 'everyday', '--quick']).profiles, [everyday])
  assert.equal(readArguments(['--quick']).events, 20_000)
})

test('wrong arguments are refused with what is allowed', () => {
  assert.throws(() => readArguments(['--other', 'http://127.0.0.1:4454']), /NAME=URL/)
  assert.throws(() => readArguments(['--other', 'ref=http://127.0.0.1:4454,x']), /NAME=URL/)
  assert.throws(() => readArguments(['--profile', 'edge']), /one of bursts, everyday, both/)
  assert.throws(() => readArguments(['--profile', 'toString']), /one of bursts, everyday, both/)
  assert.throws(() => readArguments(['--rounds', '0']), /a number from 1 on/)
  assert.throws(() => readArguments(['--events', 'many']), /a number from 1 on/)
})
