import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { EventOrder, Tags } from '@actyx/sdk'
import { ClientNode } from './node.ts'
import { Collected, connected } from './sdk.ts'

const node = await ClientNode.start({ after })
const actyx = await connected({ after }, node)

for (const eventOrder of [EventOrder.Lamport, EventOrder.Timestamp]) {
  test(`observeEarliest keeps the first event by ${eventOrder}`, async () => {
    const query = Tags<number>(`earliest-${eventOrder}`)
    const seen = new Collected<number>()
    const cancel = actyx.observeEarliest({ query, eventOrder }, seen.add, seen.fail)
    await actyx.publish(query.apply(1, 2, 3))
    assert.deepEqual(await seen.ofLength(1), [1])
    const latest = new Collected<number>()
    const cancelLatest = actyx.observeLatest({ query, eventOrder }, latest.add, latest.fail)
    await latest.until((all) => all.at(-1) === 3)
    await actyx.publish(query.apply(4))
    await latest.until((all) => all.at(-1) === 4)
    assert.deepEqual(seen.items, [1])
    cancel()
    cancelLatest()
  })
}

test('observeLatest follows the last event', async () => {
  const query = Tags<string>('latest')
  await actyx.publish(query.apply('a', 'b'))
  const seen = new Collected<string>()
  const cancel = actyx.observeLatest({ query }, seen.add, seen.fail)
  assert.deepEqual(await seen.ofLength(1), ['b'])
  for (const event of ['c', 'd']) {
    await actyx.publish(query.apply(event))
    await seen.until((all) => all.at(-1) === event)
  }
  cancel()
})

test('observeBestMatch changes only for a better match', async () => {
  const query = Tags<number>('best')
  await actyx.publish(query.apply(3, 7, 5))
  const seen = new Collected<number>()
  const cancel = actyx.observeBestMatch(query, (candidate, current) => candidate.payload > current.payload, seen.add)
  assert.deepEqual(await seen.ofLength(1), [7])
  for (const event of [6, 9]) await actyx.publish(query.apply(event))
  assert.deepEqual(await seen.ofLength(2), [7, 9])
  cancel()
})

test('observeUnorderedReduce counts every event once', async () => {
  const query = Tags<number>('sum')
  await actyx.publish(query.apply(1, 2, 3))
  const seen = new Collected<number>()
  const cancel = actyx.observeUnorderedReduce<number, number>(query, (sum, n) => sum + n, 0, seen.add, seen.fail)
  assert.deepEqual(await seen.ofLength(1), [6])
  for (let n = 0; n < 10; n++) await actyx.publish(query.apply(10))
  const sums = await seen.until((all) => all.at(-1) === 106)
  assert.deepEqual(
    sums,
    [...sums].sort((a, b) => a - b),
  )
  cancel()
})
