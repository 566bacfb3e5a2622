import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tuning } from '../../src/base/tuning.ts'
import { PieceQueue } from '../../src/store/jobs/piece-queue.ts'
import * as fc from '../support/property.ts'

function queue(): { queue: PieceQueue; acknowledged: number[]; cancelled: () => number } {
  const acknowledged: number[] = []
  let cancelled = 0
  const made = new PieceQueue(
    (bytes) => acknowledged.push(bytes),
    () => cancelled++,
  )
  return { queue: made, acknowledged, cancelled: () => cancelled }
}

const failure = new Error('what went wrong')

test('a consumer gets all pieces in order and then the end or the error, whether it asks before or after they arrive', async () => {
  const step = fc.constantFrom('push', 'take')
  await fc.assert(
    fc.asyncProperty(fc.array(step), fc.boolean(), async (steps, fails) => {
      const { queue: pieces, cancelled } = queue()
      const results: Promise<unknown>[] = []
      let pushed = 0
      const take = (): void => {
        results.push(pieces.next().then(({ value, done }) => (done === true ? 'end' : value[0])))
      }
      for (const step of steps) {
        if (step === 'push') pieces.push(Buffer.of(pushed++))
        // One at a time, like an iterator.
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

test('cancelling or failing settles a pending read at once, and notifies the producer once', async () => {
  const [first, second] = [queue(), queue()]
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

test('a consumer that stops iterating cancels the producer', async () => {
  const { queue: pieces, cancelled } = queue()
  pieces.push(Buffer.of(1))
  for await (const _ of pieces) break
  assert.equal(cancelled(), 1)
  await pieces.ended
})

test('consumed bytes are acknowledged with the next read, small pieces in batches', async () => {
  const { queue: pieces, acknowledged } = queue()
  const quarter = tuning.queryCreditBytes / 4
  for (const size of [quarter - 1, 1, quarter, 5]) pieces.push(Buffer.alloc(size))
  for (const expected of [[], [], [quarter], [quarter, quarter]]) {
    await pieces.next()
    assert.deepEqual(acknowledged, expected)
  }
})
