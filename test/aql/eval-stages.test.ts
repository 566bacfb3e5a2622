import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Order } from '../../src/aql/ast.ts'
import { compileQuery } from '../../src/aql/eval/compile.ts'
import { openStages } from '../../src/aql/eval/program.ts'
import { Frame, type Output } from '../../src/aql/eval/variable-frame.ts'
import { parseQuery } from '../../src/aql/index.ts'
import { writeJson } from '../../src/aql/values/json-write.ts'
import type { Value } from '../../src/aql/values/value.ts'
import { casesOf } from './eval/cases.ts'
import { evaluate, frameWith } from './eval/expressions.ts'
import { eventsFrom, now } from './eval/run.ts'

interface Outcome {
  readonly value?: unknown
  readonly anti?: unknown
  readonly error?: string
}

/** The pipeline of a query, driven by the test. */
function opened(query: string, bindings: Readonly<Record<string, unknown>> = {}, order?: Order) {
  const { scope, frame: outer } = frameWith(bindings)
  const program = compileQuery(parseQuery(query, { now }), scope)
  const outcomes: Outcome[] = []
  const output: Output = {
    emit: (frame, slot, anti) => {
      const value: unknown = JSON.parse(writeJson(slot === 0 ? frame.read() : (frame.values[slot] as Value)))
      outcomes.push(anti ? { anti: value } : { value })
    },
    failed: ({ message }) => outcomes.push({ error: message }),
  }
  const frame = new Frame(program.slots, outer.session, output, order, outer)
  const { first, aggregates } = openStages(program, frame)
  return {
    frame,
    program,
    feed(payload: Value) {
      frame.set(0, payload, undefined)
      first.feed(false)
    },
    feedEvent(payload: unknown, lamport: number) {
      for (const event of eventsFrom([{ payload, lamport }])) frame.setEvent(event)
      first.feed(false)
    },
    flush() {
      for (const aggregate of aggregates) aggregate.flush()
    },
    taken: () => outcomes.splice(0),
  }
}

interface FeedCase {
  readonly input: string
  readonly bindings?: Readonly<Record<string, unknown>>
  readonly expect: readonly (Outcome & { readonly text?: string })[]
}

describe('single passes of the case file', () => {
  for (const { name, query, input, bindings, expect } of casesOf<FeedCase>('feed')) {
    test(name, () => {
      const stages = opened(query, bindings)
      stages.feed(evaluate(input))
      assert.deepEqual(
        stages.taken(),
        expect.map(({ text, ...outcome }) => outcome),
      )
    })
  }
})

interface AggregateCase {
  readonly steps: readonly { readonly in?: unknown; readonly lamport?: number; readonly flush?: readonly Outcome[] }[]
}

describe('aggregates of the case file', () => {
  for (const { name, query, steps } of casesOf<AggregateCase>('aggregate')) {
    test(name, () => {
      const stages = opened(query)
      for (const { in: payload, lamport = 0, flush } of steps) {
        if (flush === undefined) stages.feedEvent(payload, lamport)
        else {
          stages.flush()
          assert.deepEqual(stages.taken(), flush)
        }
      }
    })
  }
})

describe('stopping early', () => {
  for (const { name, query, order, input, expect } of casesOf<{ order: Order; input: string; expect: boolean }>(
    'doneAfterOne',
  )) {
    test(name, () => {
      const stages = opened(query, {}, order)
      stages.feed(evaluate(input))
      assert.equal(stages.frame.done, expect)
    })
  }

  for (const { name, query, expect } of casesOf<{ expect: Order | null }>('preferredOrder')) {
    test(name, () => assert.equal(opened(query).program.order ?? null, expect))
  }
})
