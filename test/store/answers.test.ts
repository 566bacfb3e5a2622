import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { AnswersLookedFor, AnswersTold, newAnswers } from '../../src/store/threads/writer/answers.ts'
import * as fc from '../support/property.ts'

interface Both {
  readonly told: AnswersTold<Float64Array>
  readonly lookedFor: AnswersLookedFor
  readonly received: number[][]
  /** Messages that were sent and not delivered yet. */
  readonly underWay: Float64Array[]
  /** Delivers the oldest of them. */
  readonly deliver: () => void
}

function answers(): Both {
  const memory = newAnswers()
  const received: number[][] = []
  const underWay: Float64Array[] = []
  const receive = (numbers: Float64Array): void => void received.push([...numbers])
  const lookedFor = new AnswersLookedFor(memory, receive, systemRuntime)
  const deliver = (): void => {
    const message = underWay.shift()
    if (message !== undefined) lookedFor.messageCame(() => receive(message))
  }
  const told = new AnswersTold<Float64Array>(memory, (message) => underWay.push(message))
  return { told, lookedFor, received, underWay, deliver }
}

test('responses go through shared memory while the consumer polls, and as messages otherwise', async () => {
  const { told, lookedFor, received, underWay } = answers()
  lookedFor.look()
  told.tell(Float64Array.of(2, 3))
  assert.equal(underWay.length, 0)
  told.tell(Float64Array.of(4))
  assert.equal(underWay.length, 1, 'the slot still holds the previous responses')
  while (received.length === 0) await turn()
  assert.deepEqual(received, [[2, 3]])
  told.tell(Float64Array.of(5))
  assert.equal(underWay.length, 2, 'the consumer has stopped polling')
})

test('a message is received after the responses that were written to shared memory before it', () => {
  const { told, lookedFor, received, deliver } = answers()
  lookedFor.look()
  told.tell(Float64Array.of(1))
  told.tell(Float64Array.of(2))
  deliver()
  assert.deepEqual(received, [[1], [2]])
})

test('responses in shared memory are received after the messages that were sent before them', async () => {
  const { told, lookedFor, received, deliver } = answers()
  told.tell(Float64Array.of(1))
  told.send(Float64Array.of(2))
  lookedFor.look()
  told.tell(Float64Array.of(3))
  await turn()
  assert.deepEqual(received, [])
  deliver()
  assert.deepEqual(received, [[1]])
  deliver()
  assert.deepEqual(received, [[1], [2], [3]])
})

test('after the last message, pending responses in shared memory are received', () => {
  const { told, lookedFor, received } = answers()
  told.tell(Float64Array.of(1))
  lookedFor.look()
  told.tell(Float64Array.of(2))
  lookedFor.takeLast()
  assert.deepEqual(received, [[2]])
})

test('a message that fails to be sent does not block later responses', async () => {
  const memory = newAnswers()
  const received: number[] = []
  const lookedFor = new AnswersLookedFor(memory, ([number = -1]) => received.push(number), systemRuntime)
  const told = new AnswersTold<string>(memory, (message) => {
    if (message === 'bad') throw new Error('this cannot be sent')
    lookedFor.messageCame(() => {})
  })
  assert.throws(() => told.send('bad'))
  told.send('good')
  lookedFor.look()
  told.tell(Float64Array.of(7))
  await turn()
  assert.deepEqual(received, [7])
})

test('responses that exceed the shared memory are sent as messages', () => {
  const { told, lookedFor, underWay } = answers()
  lookedFor.look()
  told.tell(new Float64Array(600))
  assert.equal(underWay.length, 1)
  told.tell(new Float64Array(500))
  assert.equal(underWay.length, 1)
})

test('polling without success times out, and becomes rare', async () => {
  const { told, lookedFor, received, underWay, deliver } = answers()
  const deliverAll = (): void => {
    while (underWay.length > 0) deliver()
  }
  for (let i = 0; i < 200; i++) {
    lookedFor.look()
    const until = performance.now() + 1
    while (performance.now() < until) await turn()
    // The poll notices its timeout in the next turn of the event loop.
    await turn()
    told.tell(Float64Array.of(0))
  }
  assert.equal(underWay.length, 200)
  assert.deepEqual(received, [])
  deliverAll()
  // Polling becomes regular again once it succeeds; until then it is rare.
  let looks = 0
  for (let i = 0; i < 200; i++) {
    lookedFor.look()
    told.tell(Float64Array.of(i))
    if ((underWay.length as number) === 0) looks++
    told.send(Float64Array.of(0))
    deliverAll()
  }
  assert.ok(looks > 100 && looks < 200, `${looks} of 200`)
})

test('in any interleaving each response is received exactly once and in order', async () => {
  const step = fc.constantFrom('look', 'tell', 'tell', 'send', 'deliver', 'turn')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { told, lookedFor, received, underWay, deliver } = answers()
      let next = 0
      for (const what of steps) {
        if (what === 'look') lookedFor.look()
        else if (what === 'deliver') deliver()
        else if (what === 'turn') await turn()
        else if (what === 'send') told.send(Float64Array.of(next++))
        else told.tell(Float64Array.of(next++))
      }
      while (underWay.length > 0) deliver()
      lookedFor.takeLast()
      assert.deepEqual(
        received.map(([number]) => number),
        Array.from({ length: next }, (_, i) => i),
      )
    }),
    { numRuns: 1000 },
  )
})
