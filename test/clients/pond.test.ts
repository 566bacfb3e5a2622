import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Fish, FishId, Pond, Tag, Tags } from '@actyx/pond'
import { ClientNode } from './node.ts'
import { Collected, manifest, numbers } from './sdk.ts'

type Step = { type: 'added'; amount: number } | { type: 'reset' }

const stepTag = Tag<Step>('step')

/** A fish that sums the amounts since the last reset. */
function counter(name: string): Fish<{ sum: number; events: number }, Step> {
  return {
    fishId: FishId.of('counter', name, 1),
    initialState: { sum: 0, events: 0 },
    where: stepTag.and(Tag(name)),
    onEvent: ({ sum, events }, step) =>
      step.type === 'reset' ? { sum: 0, events } : { sum: sum + step.amount, events: events + 1 },
    isReset: ({ type }) => type === 'reset',
  }
}

async function pondOn(t: TestContext, node: ClientNode): Promise<Pond> {
  const pond = await Pond.of(manifest, node.address, {})
  t.after(() => pond.dispose())
  return pond
}

const added = (amount: number): Step => ({ type: 'added', amount })
const tagsOf = (name: string) => stepTag.and(Tag<Step>(name))

test('a fish is updated by its events in every pond on the node', async (t) => {
  const node = await ClientNode.start(t)
  const [writer, reader] = [await pondOn(t, node), await pondOn(t, node)]
  const states = new Collected<{ sum: number; events: number }>()
  const cancel = reader.observe(counter('a'), states.add, states.fail)
  for (const n of numbers(20)) await writer.emit(tagsOf('a'), added(n)).toPromise()
  await writer.emit(tagsOf('b'), added(1000)).toPromise()
  await states.until((all) => all.at(-1)?.events === 20)
  assert.deepEqual(states.items.at(-1), { sum: 190, events: 20 })
  assert.deepEqual(await writer.currentState(counter('b')), { sum: 1000, events: 1 })
  cancel()
})

test('a fish with thousands of events caches snapshots and reaches the right state', async (t) => {
  const node = await ClientNode.start(t)
  const pond = await pondOn(t, node)
  await pond.publish(numbers(9000).map((n) => tagsOf('many').apply(added(n % 7))))
  const state = await pond.currentState(counter('many'))
  assert.deepEqual(state, { sum: numbers(9000).reduce((sum, n) => sum + (n % 7), 0), events: 9000 })
})

test('a reset discards the events before it', async (t) => {
  const node = await ClientNode.start(t)
  const pond = await pondOn(t, node)
  await pond.publish([added(1), added(2), { type: 'reset' } as const, added(3)].map((step) => tagsOf('r').apply(step)))
  assert.equal((await pond.currentState(counter('r'))).sum, 3)
})

test('state effects run sequentially, each on the state after the previous one', async (t) => {
  const node = await ClientNode.start(t)
  const pond = await pondOn(t, node)
  const states: number[] = []
  const commands = numbers(10).map(() =>
    pond
      .run<{ sum: number; events: number }, Step>(counter('e'), ({ events }, enqueue) => {
        states.push(events)
        enqueue(tagsOf('e'), added(1))
      })
      .toPromise(),
  )
  await Promise.all(commands)
  assert.deepEqual(states, numbers(10))
  const sums = new Collected<number>()
  pond.observe(counter('e'), ({ sum }) => sums.add(sum), sums.fail)
  await sums.until((all) => all.at(-1) === 10)
})

test('keepRunning emits until its condition is met', async (t) => {
  const node = await ClientNode.start(t)
  const pond = await pondOn(t, node)
  const states = new Collected<number>()
  pond.observe(counter('k'), ({ sum }) => states.add(sum), states.fail)
  pond.keepRunning<{ sum: number; events: number }, Step>(
    counter('k'),
    ({ sum }, enqueue) => {
      if (sum < 5) enqueue(tagsOf('k'), added(1))
    },
    ({ sum }) => sum >= 5,
  )
  await states.until((all) => all.at(-1) === 5)
  const { events } = await pond.events().queryAllKnown({ query: tagsOf('k') })
  assert.equal(events.length, 5)
})

test('observeAll creates a fish for every seed, and observeOne for the first', async (t) => {
  const node = await ClientNode.start(t)
  const pond = await pondOn(t, node)
  const seeds = Tag<string>('seed')
  const sums = new Collected<number[]>()
  pond.observeAll(seeds, counter, {}, (states) => sums.add(states.map(({ sum }) => sum)))
  await pond.publish(seeds.apply('x', 'y'))
  await pond.publish(tagsOf('x').apply(added(1)))
  await pond.publish(tagsOf('y').apply(added(2)))
  await sums.until((all) => JSON.stringify([...(all.at(-1) ?? [])].sort()) === '[1,2]')
  const one = new Collected<number>()
  pond.observeOne(seeds, counter, ({ sum }) => one.add(sum), one.fail)
  await one.until((all) => all.at(-1) === 1)
})

test('the built-in fish of the Pond see events in order', async (t) => {
  const node = await ClientNode.start(t)
  const pond = await pondOn(t, node)
  const where = Tags<number>('plain')
  await pond.publish(where.apply(...numbers(50)))
  assert.deepEqual(await pond.currentState(Fish.eventsAscending(where)), numbers(50))
  assert.deepEqual(await pond.currentState(Fish.eventsDescending(where, 3)), [49, 48, 47])
  assert.equal(await pond.currentState(Fish.latestEvent(where)), 49)
})

test('a fish continues after a restart of the node without lost or duplicate events', async (t) => {
  const node = await ClientNode.start(t)
  const pond = await pondOn(t, node)
  const states = new Collected<{ sum: number; events: number }>()
  pond.observe(counter('again'), states.add, states.fail)
  await pond.publish(numbers(10).map((n) => tagsOf('again').apply(added(n))))
  await states.until((all) => all.at(-1)?.events === 10)
  await node.stop('SIGTERM')
  await node.startAgain()
  const later = await pondOn(t, node)
  await later.publish(tagsOf('again').apply(added(100)))
  await states.until((all) => all.at(-1)?.events === 11)
  assert.deepEqual(states.items.at(-1), { sum: 145, events: 11 })
})
