import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileSteps } from '../../src/aql/eval/compile.ts'
import { type Cursor, type EventProvider, notReady } from '../../src/aql/eval/event-provider.ts'
import { MemoryEvents } from '../../src/aql/eval/memory-events.ts'
import { MessageWriter } from '../../src/aql/eval/messages.ts'
import { evaluateQuery, rootScope } from '../../src/aql/eval/query.ts'
import {
  aqlLimits,
  featuresUsed,
  inlineEventSteps,
  type MainQuery,
  type Plan,
  parseQuery,
  parseTagExpr,
  plainSteps,
  printSteps,
  runToEnd,
  type Steps,
} from '../../src/aql/index.ts'
import { readSteps } from '../../src/aql/parse.ts'
import { planFor } from '../../src/aql/plan/tag-plan.ts'
import { unitsPerStep } from '../../src/aql/steps.ts'
import { Reader, stepsPerYield } from '../../src/aql/text/text-reader.ts'
import { eventsFrom, messagesOf, now } from './eval/run.ts'

const count = 20_000

function many(part: (at: number) => string, separator: string): string {
  return Array.from({ length: count }, (_, at) => part(at)).join(separator)
}

/** Long queries, one for each construct that may be repeated without limit. */
const long: readonly (readonly [name: string, text: string])[] = [
  ['operators', `FROM [1] SELECT ${many(() => '1', '+')}`],
  ['operators of all kinds', `FROM [1] SELECT ${many((at) => `1 ${'+*^&'.charAt(at % 4)} 1`, '-')}`],
  ['items', `FROM [1] SELECT [${many(() => '_', ',')}]`],
  ['items of a source', `FROM [${many(() => '1', ',')}]`],
  ['results', `FROM [1] SELECT ${many(() => '1', ',')}`],
  ['entries', `FROM [1] SELECT {${many((at) => `a${at}: 1`, ',')}}`],
  ['steps of a path', `FROM [1] SELECT _${many((at) => (at % 2 === 0 ? '.a' : '[_]'), '')}`],
  ['parts of a template', `FROM [1] SELECT \`${many(() => '{_}', '')}\``],
  ['clauses', `FROM [1] SELECT ${many(() => 'CASE TRUE => 1', ' ')} ENDCASE`],
  ['arguments', `FROM [1] SELECT Foo(${many(() => '1', ',')})`],
  ['nested queries', `FROM [1] SELECT [${many(() => 'FROM [1] END', ',')}]`],
  ['the same aggregators', `FROM [1] AGGREGATE [${many(() => 'SUM(_.a)', ',')}]`],
  [
    'long aggregators',
    `FROM [1] AGGREGATE [${Array.from({ length: 50 }, (_, at) => `SUM([${'1,'.repeat(400)}${at}])`)}]`,
  ],
  ['deeply nested values', `FROM [1] SELECT [${Array(40).fill(`${'[{a:'.repeat(200)}1${'}]'.repeat(200)}`)}]`],
  ['tags', `FROM ${many((at) => `'t${at}'`, ' | ')}`],
  ['tags with &', `FROM ${many((at) => `'t${at}'`, ' & ')}`],
  ['pairs of tags', `FROM ${many((at) => `('t${at}' & ('a' | 'b'))`, ' | ')}`],
  ['ranges', `FROM ${many((at) => `'t${at}' & KEY > ${at}`, ' | ')}`],
  ['stages', `FROM [1] ${Array(1000).fill('LET a := [1,2,3,4,5,6,7,8,9,10]').join(' ')}`],
]

/** Runs a computation; returns the number of time slices and the most work in one of them. */
function counted<T>(steps: Steps<T>, counter: () => number): { value: T; most: number; turns: number } {
  let [turns, most, before] = [0, 0, counter()]
  for (;;) {
    const step = steps.next()
    turns++
    most = Math.max(most, counter() - before)
    before = counter()
    if (step.done === true) return { value: step.value, most, turns }
  }
}

describe('a long query is prepared cooperatively', () => {
  for (const [name, text] of long) {
    test(`a query with many ${name} is parsed in time slices of bounded length`, () => {
      const reader = new Reader(text)
      const { most, turns } = counted(readSteps(reader, now), () => reader.steps)
      // A construct may end after the step is due, and still tries what may follow it.
      assert.ok(most <= stepsPerYield + 2000, `${most} steps`)
      assert.ok(turns >= text.length / stepsPerYield / 4, `${turns} turns`)
    })

    test(`a query with many ${name} is planned or compiled, checked and printed in several time slices`, () => {
      const query = parseQuery(text, { now })
      const isOfTags = query.source.kind === 'events'
      const turnsOf = (steps: Steps<unknown>): number => counted(steps, () => 0).turns
      const least = Math.floor((isOfTags ? count : 1000) / unitsPerStep / 2) || 1
      if (isOfTags) assert.ok(turnsOf(plainSteps(query, 'me')) >= count / unitsPerStep, 'planned')
      else {
        assert.ok(turnsOf(compileSteps(query, rootScope)) > least, 'compiled')
        assert.ok(turnsOf(featuresUsed(query)) > least, 'features')
      }
      assert.ok(turnsOf(printSteps(query)) > least, 'printed')
    })
  }

  test('many inline events are parsed in several time slices', () => {
    const text = `PRAGMA events\n${many(() => '{"payload":1}', '\n')}\nENDPRAGMA\nFROM allEvents`
    const { value, turns } = counted(inlineEventSteps(parseQuery(text, { now }), now), () => 0)
    assert.equal(value?.length, count)
    assert.ok(turns >= count / unitsPerStep)
  })

  test('a short query is prepared in one time slice', () => {
    const steps: ((query: MainQuery) => Steps<unknown>)[] = [
      (query) => compileSteps(query, rootScope),
      featuresUsed,
      printSteps,
      (query) => plainSteps(query, 'me'),
    ]
    for (const text of ["FROM 'a' & 'b' | 'c' FILTER _.a > 3 SELECT [_.a, _.b]", "FROM ('a' | 'b') & ('c' | 'd')"]) {
      assert.equal(counted(readSteps(new Reader(text), now), () => 0).turns, 1)
      const query = parseQuery(text, { now })
      for (const prepared of steps) assert.equal(counted(prepared(query), () => 0).turns, 1)
    }
  })
})

test('a variable resolves to its latest binding across hundreds of LET stages', () => {
  const lets = Array.from({ length: 900 }, (_, at) => `LET a${at} := ${at}`).join(' ')
  const [message] = messagesOf(`FROM [1] LET b := a1 ?? 7 ${lets} LET a1 := a1 + 1 SELECT [b, a1, a899, _]`, [])
  assert.deepEqual(message?.payload, [7, 2, 899, 1])
})

describe('branches of a conjunction', () => {
  const planOf = (text: string) => planFor(parseTagExpr(text, { now }), { appId: 'me', tagOf: () => '' })

  test('repeated operands produce no duplicate branches', () => {
    const plan = planOf(Array(12).fill("('a' | 'b')").join(' & '))
    assert.deepEqual([plan.anyOf, plan.residual], [[{ tags: ['a'] }, { tags: ['b'] }], undefined])
  })

  test('distinct operands produce the full cross product', () => {
    const plan = planOf(Array.from({ length: 8 }, (_, at) => `('a${at}' | 'b${at}')`).join(' & '))
    assert.deepEqual([plan.anyOf.length, plan.residual], [256, undefined])
  })
})

/** Records the plans of opened cursors. */
class PlannedEvents implements EventProvider {
  readonly plans: Plan[] = []
  readonly #events: EventProvider

  constructor(events: EventProvider) {
    this.#events = events
  }

  open(plan: Plan, order: 'asc' | 'desc' | 'stream-asc'): Cursor {
    this.plans.push(plan)
    return this.#events.open(plan, order)
  }
}

describe('the plan of a nested query', () => {
  const events = eventsFrom(
    Array.from({ length: 20 }, (_, at) => ({
      tags: ['n', `id:${Math.floor(at / 10)}`],
      payload: { id: Math.floor(at / 10) },
    })),
  )
  const plansOf = (tags: string): { plans: Plan[]; payloads: unknown[] } => {
    const port = new PlannedEvents(new MemoryEvents(events))
    const messages = messagesOf(`FROM 'n' SELECT FROM ${tags} AGGREGATE SUM(1)`, [], { port })
    const payloads = messages.filter(({ type }) => type === 'event').map(({ payload }) => payload)
    return { plans: port.plans.slice(1), payloads }
  }

  test('the plan is cached when its tags do not depend on the event, even if they are templates', () => {
    for (const tags of ["('n' | 'x') & ('n' | 'y')", "(`n` | 'x') & (`{'n'}` | `y{1}`)"]) {
      const { plans, payloads } = plansOf(tags)
      assert.deepEqual([plans.length, new Set(plans).size], [20, 1], tags)
      assert.deepEqual(payloads, Array(20).fill([20]), tags)
    }
  })

  test('the plan is made again only when a tag template changes its value', () => {
    const { plans, payloads } = plansOf("(`id:{_.id}` | 'x') & 'n'")
    assert.deepEqual([plans.length, new Set(plans).size], [20, 2])
    assert.deepEqual(payloads, Array(20).fill([10]))
  })

  test('a plan per event has few branches, and a residual predicate beyond that', () => {
    const pairs = Array.from({ length: 12 }, (_, at) => `(\`id:{_.id}\` | \`x${at}{_.id}\`)`)
    const distinct = Array.from({ length: 12 }, (_, at) => `(\`id:{_.id - 0 * ${at}}\` | \`n\` | \`x${at}{_.id}\`)`)
    for (const tags of [pairs.join(' & '), distinct.join(' & ')]) {
      const { plans, payloads } = plansOf(tags)
      for (const { anyOf } of plans) assert.ok(anyOf.length <= aqlLimits.tagCombinationsPerEvent, `${anyOf.length}`)
      assert.deepEqual(payloads, Array(20).fill([tags.includes('`n`') ? 20 : 10]))
    }
  })

  test('a plan with many branches is made in several time slices', () => {
    const text = `FROM 'n' SELECT FROM ${many((at) => `\`{_.id}:${at}\``, ' | ')}`
    const request = {
      events: new MemoryEvents(events.slice(0, 1)),
      appId: 'me',
      order: 'asc' as const,
      slice: { isOver: () => false },
    }
    const { turns } = counted(evaluateQuery(parseQuery(text, { now }), request, new MessageWriter(() => {})), () => 0)
    assert.ok(turns >= count / unitsPerStep, `${turns} turns`)
  })
})

test('an in-memory cursor yields while it skips events that are not selected', () => {
  const { anyOf } = planFor(
    parseTagExpr(
      many((at) => `'t${at}'`, '|'),
      { now },
    ),
    { appId: 'me', tagOf: () => '' },
  )
  const cursor = new MemoryEvents(eventsFrom(Array(50).fill({ tags: ['n'], payload: 1 }))).open(
    { anyOf, residual: undefined },
    'asc',
  )
  for (let at = 0; at < 50; at++) assert.equal(cursor.next(), notReady)
  assert.equal(cursor.next(), undefined)
})

test('the steps per event grow with the number of AST nodes', () => {
  const stepsOf = (text: string): number => {
    let most = 0
    const slice = {
      isOver: (steps: number) => {
        most = Math.max(most, steps)
        return false
      },
    }
    const request = {
      events: new MemoryEvents(eventsFrom([{ payload: 1 }])),
      appId: 'me',
      order: 'asc' as const,
      slice,
    }
    runToEnd(evaluateQuery(parseQuery(text, { now }), request, new MessageWriter(() => {})))
    return most
  }
  assert.equal(stepsOf('FROM allEvents SELECT _ + 1'), 1)
  assert.ok(stepsOf(`FROM allEvents SELECT ${many(() => '1', '+')}`) >= count / 16)
})
