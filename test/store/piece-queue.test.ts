import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tuning } from '../../src/base/tuning.ts'
import { PieceQueue } from '../../src/store/jobs/piece-queue.ts'
import * as fc from '../support/property.ts'

function newQueue(): { queue: PieceQueue; credits: number[]; cancelled: () => number } {
  const credits: number[] = []
  let cancelled = 0
  const queue = new PieceQueue(
    (bytes) => credits.push(bytes),
    () => cancelled++,
  )
  return { queue, credits, cancelled: () => cancelled }
}

const failure = new Error('failed')

test('a consumer gets all pieces in order, then the end or the error', async () => {
  const step = fc.constantFrom('push', 'take')
  await fc.assert(
    fc.asyncProperty(fc.array(step), fc.boolean(), async (steps, fails) => {
      const { queue: pieces, cancelled } = newQueue()
      const results: Promise<unknown>[] = []
      let pushed = 0
      const take = (): void => {
        results.push(pieces.next().then(({ value, done }) => (done === true ? 'end' : value[0])))
      }
      for (const step of steps) {
        if (step === 'push') pieces.push(Buffer.of(pushed++))
        // One pending `next` at a time, like an iteration.
        else if (results.length <= pushed) take()
        await Promise.resolve()
      }
      pieces.end(fails ? failure : undefined)
      while (results.length < pushed) take()
      const taken = await Promise.allSettled(results)
      const last = results.length > pushed ? taken.pop() : (await Promise.allSettled([pieces.next()]))[0]
      assert.deepEqual(
        taken.map((result) => (result as { value: unknown }).value),
        Array.from({ length: pushed }, (_, i) => i),
      )
      if (fails) assert.equal((last as { reason?: unknown }).reason, failure)
      else assert.equal(last?.status, 'fulfilled')
      assert.deepEqual(await pieces.next(), { done: true, value: undefined })
      assert.equal(cancelled(), 0)
    }),
  )
})

test('cancelling or failing a queue settles the pending `next` and notifies the producer once', async () => {
  const [first, second] = [newQueue(), newQueue()]
  const waiting = first.queue.next()
  first.queue.cancel()
  assert.deepEqual(await waiting, { done: true, value: undefined })
  assert.equal(first.cancelled(), 1)
  const failing = second.queue.next()
  second.queue.fail(failure)
  await assert.rejects(failing, failure)
  assert.equal(second.cancelled(), 1)
  second.queue.cancel()
  assert.equal(second.cancelled(), 1)
})

test('leaving the iteration cancels the queue', async () => {
  const { queue: pieces, cancelled } = newQueue()
  pieces.push(Buffer.of(1))
  for await (const _ of pieces) break
  assert.equal(cancelled(), 1)
  await pieces.ended
})

test('consumed bytes are credited with the next call, small pieces in batches', async () => {
  const { queue: pieces, credits } = newQueue()
  const quarter = tuning.queryCreditBytes / 4
  for (const size of [quarter - 1, 1, quarter, 5]) pieces.push(Buffer.alloc(size))
  for (const expected of [[], [], [quarter], [quarter, quarter]]) {
    await pieces.next()
    assert.deepEqual(credits, expected)
  }
})
