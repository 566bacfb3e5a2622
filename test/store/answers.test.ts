import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { AnswersLookedFor, AnswersTold, newAnswers } from '../../src/store/threads/answers.ts'

function answers(): { told: AnswersTold; lookedFor: AnswersLookedFor; received: number[][] } {
  const memory = newAnswers()
  const received: number[][] = []
  return {
    told: new AnswersTold(memory),
    lookedFor: new AnswersLookedFor(memory, (numbers) => received.push([...numbers])),
    received,
  }
}

test('answers are left for whoever looks, and only then', async () => {
  const { told, lookedFor, received } = answers()
  assert.equal(told.tell(Float64Array.of(1)), false)
  lookedFor.look()
  assert.equal(told.tell(Float64Array.of(2, 3)), true)
  assert.equal(told.tell(Float64Array.of(4)), false, 'those before were not taken yet')
  while (received.length === 0) await turn()
  assert.deepEqual(received, [[2, 3]])
  assert.equal(told.tell(Float64Array.of(5)), false, 'nobody looks any more')
})

test('what comes as a message comes after what was left', () => {
  const { told, lookedFor, received } = answers()
  lookedFor.look()
  assert.equal(told.tell(Float64Array.of(1)), true)
  lookedFor.take()
  assert.deepEqual(received, [[1]])
  lookedFor.take()
  assert.deepEqual(received, [[1]])
})

test('answers that have no room are not left', () => {
  const { told, lookedFor } = answers()
  lookedFor.look()
  assert.equal(told.tell(new Float64Array(600)), false)
  assert.equal(told.tell(new Float64Array(500)), true)
})

test('looking in vain comes to an end, and is tried less often then', async () => {
  const { told, lookedFor, received } = answers()
  let isLookedFor = 0
  for (let i = 0; i < 200; i++) {
    lookedFor.look()
    const until = performance.now() + 1
    while (performance.now() < until) await turn()
    // Whoever looks sees in the next turn that the time is over.
    await turn()
    if (told.tell(Float64Array.of(0))) isLookedFor++
  }
  assert.equal(isLookedFor, 0)
  assert.deepEqual(received, [])
  // Once it is of use again, it is done every time; until then hardly ever.
  let looks = 0
  for (let i = 0; i < 200; i++) {
    lookedFor.look()
    if (told.tell(Float64Array.of(i))) looks++
    lookedFor.take()
  }
  assert.ok(looks > 100 && looks < 200, `${looks} of 200`)
})

test('whatever happens in whatever order, each answer comes once, one way or the other, in order', async () => {
  const step = fc.constantFrom('look', 'tell', 'take', 'turn')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { told, lookedFor, received } = answers()
      let next = 0
      for (const what of steps) {
        if (what === 'look') lookedFor.look()
        else if (what === 'take') lookedFor.take()
        else if (what === 'turn') await turn()
        else if (!told.tell(Float64Array.of(next++))) {
          lookedFor.take()
          received.push([next - 1])
        }
      }
      lookedFor.take()
      assert.deepEqual(
        received.map(([number]) => number),
        Array.from({ length: next }, (_, i) => i),
      )
    }),
    { numRuns: 300 },
  )
})
