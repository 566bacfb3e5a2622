import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseTagExpr } from '../../src/aql/index.ts'
import { removeSubsumed } from '../../src/aql/plan/branches.ts'
import type { KeyBound } from '../../src/aql/plan/key-ranges.ts'
import type { Branch, Plan } from '../../src/aql/plan/plan.ts'
import { isOfBranch } from '../../src/aql/plan/predicate.ts'
import { planFor } from '../../src/aql/plan/tag-plan.ts'
import type { AqlEvent } from '../../src/aql/values/event.ts'
import { casesOf } from './eval/cases.ts'
import { eventsFrom, now } from './eval/run.ts'

function planOf(text: string): Plan {
  return planFor(parseTagExpr(text, { now }), { appId: 'me', tagOf: () => '' })
}

function isSelected({ anyOf, residual }: Plan, event: AqlEvent): boolean {
  return anyOf.some((branch) => isOfBranch(branch, event)) && (residual?.(event) ?? true)
}

interface MatchCase {
  readonly eventTags: readonly (readonly string[])[]
  readonly eventAppIds?: readonly string[]
  readonly expect: readonly boolean[]
}

describe('tag expressions of the case file', () => {
  for (const { name, query, eventTags, eventAppIds = [], expect } of casesOf<MatchCase>('tagMatch')) {
    test(name, () => {
      const events = eventsFrom(eventTags.map((tags, at) => ({ tags, appId: eventAppIds[at] ?? 'x', payload: 0 })))
      const plan = planOf(query)
      assert.deepEqual(
        events.map((event) => isSelected(plan, event)),
        expect,
      )
    })
  }

  for (const { name, query, local, expect } of casesOf<{ local: boolean; expect: string | string[][] }>('tagQuery')) {
    test(name, () => {
      const branches = planOf(query).anyOf.filter(({ own }) => local || !own)
      const tags = sorted(branches)
      // Subsumption between branches of a local stream is left to the index.
      const isAll = tags.some((branch) => branch.length === 0)
      assert.deepEqual(isAll ? 'all' : tags.length === 0 ? 'none' : tags, expect)
    })
  }

  for (const { name, query, expect } of casesOf<{ expect: string[][] }>('dnf')) {
    test(name, () => assert.deepEqual(sorted(planOf(query).anyOf), expect))
  }
})

function sorted(branches: readonly Branch[]): string[][] {
  return branches.map(({ tags }) => tags.toSorted()).toSorted((a, b) => (String(a) < String(b) ? -1 : 1))
}

type Range = 'all' | 'empty' | readonly [unknown, unknown]

describe('ranges of the case file', () => {
  for (const { name, query, expect } of casesOf<{ expect: { time: Range; key: Range } }>('rangeQuery')) {
    test(name, () => {
      const { anyOf } = planOf(query)
      const [branch] = anyOf
      if (expect.time === 'empty' || expect.key === 'empty') return assert.deepEqual(anyOf, [])
      const { from = 0, to = Number.POSITIVE_INFINITY } = branch?.time ?? {}
      const time = branch?.time ? [from || null, Number.isFinite(to) ? to : null] : 'all'
      const key = branch?.key ? [edge(branch.key.lower), edge(branch.key.upper)] : 'all'
      assert.deepEqual({ time, key }, expect)
    })
  }
})

function edge(bound: KeyBound | undefined): string | null {
  return bound ? `${bound.key.lamport}/${bound.key.stream.number}` : null
}

describe('plans', () => {
  test('a plan without ranges has no residual predicate', () => {
    assert.equal(planOf("'a' & 'b' | appId(x) & isLocal").residual, undefined)
  })

  test('a contradiction has no branches', () => {
    for (const text of ['appId(a) & appId(b)', "'x' & TIME > 2021-01-01Z & TIME < 2020-01-01Z", 'KEY > 5 & KEY < 5']) {
      assert.deepEqual(planOf(text).anyOf, [], text)
    }
  })

  test('a branch that is subsumed by another one is removed', () => {
    assert.deepEqual(planOf("'a' | 'a' & TIME > 2021-01-01Z | 'a' & isLocal | 'b' & 'a'").anyOf, [{ tags: ['a'] }])
  })

  const joined = (count: number, operand: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => operand(at))
  const [oneOfTwo, twelve] = [(at: number) => `('a${at}' | 'b${at}')`, joined(12, (at) => `a${at}`)]
  const conditions: readonly { name: string; operands: string[]; tags: string[] }[] = [
    {
      name: 'with a million combinations',
      operands: joined(20, oneOfTwo),
      tags: joined(20, (at) => `${at % 3 === 0 ? 'a' : 'b'}${at}`),
    },
    { name: 'with thousands of alternatives', operands: joined(5000, oneOfTwo), tags: joined(5000, (at) => `a${at}`) },
    { name: 'with one operand repeated', operands: joined(20_000, () => "('a0' | 'b0')"), tags: ['a0'] },
    { name: 'with repeated combinations', operands: joined(20_000, (at) => oneOfTwo(at % 12)), tags: twelve },
    {
      name: 'with thousands of tags in every combination',
      operands: [...joined(20_000, (at) => `'c${at}'`), ...joined(12, oneOfTwo)],
      tags: [...joined(20_000, (at) => `c${at}`), ...twelve],
    },
  ]
  for (const { name, operands, tags } of conditions) {
    test(`the plan of an expression ${name} stays within the limit and selects exactly`, () => {
      const plan = planOf(operands.join(' & '))
      assert.ok(plan.anyOf.length <= 10_000)
      const [all, butOne] = eventsFrom([
        { tags, payload: 0 },
        { tags: tags.slice(1), payload: 0 },
      ])
      assert.ok(all && butOne)
      assert.equal(isSelected(plan, all), true)
      assert.equal(isSelected(plan, butOne), false)
    })
  }
})

test('removing subsumed branches takes linear time, whatever tags they share', () => {
  const count = 5000
  let accesses = 0
  const counted = (tags: string[], app: string): Branch => ({
    tags,
    get appId() {
      accesses++
      return app
    },
  })
  const shapes = [(at: number) => counted([], `app${at}`), (at: number) => counted(['a'], `app${at}`)]
  for (const shape of shapes) {
    accesses = 0
    const branches = Array.from({ length: count }, (_, at) => shape(at))
    assert.equal(removeSubsumed(branches).length, count)
    assert.ok(accesses < 200 * count, `${accesses} accesses for ${count} branches`)
  }
})
