import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from '../support/property.ts'
import { eventsFrom, messagesOf } from './eval/run.ts'

const name = fc.constantFrom('a', 'b', 'c', 'a b', 'é', 'constructor', 'toString')
const { payload } = fc.letrec<{ payload: unknown }>((tie) => ({
  payload: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, 0, 1.5, 'a', '"a"', '{"a":1}', '\\'),
    fc.array(tie('payload'), { maxLength: 2 }),
    fc.dictionary(name, tie('payload'), { maxKeys: 4 }),
  ),
}))

/** The results of the stages for one event each: payloads and warnings. */
function resultsOf(payloads: readonly unknown[], stages: string): unknown[] {
  const events = eventsFrom(payloads.map((payload) => ({ tags: ['t'], payload })))
  return messagesOf(`FROM 't' ${stages}`, events).map(({ payload, message }) => message ?? payload)
}

test('a field of an event is the same, or missing with the same message, as a field of its copy', () => {
  const step = fc.oneof(
    name.map((name) => `['${name}']`),
    fc.constantFrom('[0]', '[1]'),
  )
  const path = fc.array(step, { minLength: 1, maxLength: 3 }).map((steps) => steps.join(''))
  const stages = fc
    .tuple(path, path)
    .chain(([first, second]) =>
      fc.constantFrom(
        `SELECT _${first}`,
        `SELECT _${first} ?? 'none'`,
        `SELECT _${first} ?? _${second}`,
        `SELECT _${first} ?? _${second} ?? 5`,
        `SELECT { x: _${first}, y: _${second} ?? 1 }`,
        `SELECT CASE _${first} = 1.5 => 'first' CASE IsDefined(_${second}) => _${second} ENDCASE`,
        `FILTER (_${first} ?? 0) > 0 SELECT 1`,
      ),
    )
  fc.assert(
    fc.property(fc.array(payload, { minLength: 1, maxLength: 4 }), stages, (payloads, stages) => {
      // The copy has no text in which a field could be searched for.
      const copied = `LET copy := _ ${stages.replaceAll('_[', 'copy[')}`
      assert.deepEqual(resultsOf(payloads, stages), resultsOf(payloads, copied))
    }),
    { numRuns: 5000 },
  )
})

test('a field that is null is not missing', () => {
  assert.deepEqual(resultsOf([{ a: null }, {}], "SELECT _.a ?? 'none'").slice(0, 2), [null, 'none'])
  assert.deepEqual(resultsOf([{ a: { b: null } }], "SELECT _.a.b ?? 'none'").slice(0, 1), [null])
})
