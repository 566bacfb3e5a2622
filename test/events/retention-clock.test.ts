import assert from 'node:assert/strict'
import { test } from 'node:test'
import { publish, World } from './retention/world.ts'

const routes = [{ from: "'logs'", into: 'logs' }]
const streams = { logs: { maxAge: '10h' } }
const logs = 1
const hour = 3600
const year = 365 * 24 * hour

/** Microseconds. */
const set = (world: World, seconds: number): void => {
  world.clock.wall += seconds * 1e6
}

/** Runs retention as often as a node does. */
async function run(world: World, events: { prune(): Promise<void> }, seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 600) {
    world.pass(600)
    await events.prune()
  }
}

test('a restart after the clock was set removes nothing early, with or without events published since', async () => {
  for (const published of [0, 1, 1024]) {
    const world = new World()
    const events = await world.open({ routes, streams })
    await publish(events, 1024, 'logs')
    await events.prune()
    set(world, year)
    if (published > 0) await publish(events, published, 'logs')
    const again = await world.open({ routes, streams })
    await again.prune()
    assert.equal(await world.firstOf(logs), 0, `${published}`)
    assert.ok(world.log.some((line) => line.includes('the node was stopped, or the clock was set')))
  }
})

test('a change of the clock that was noticed is remembered over restarts', async () => {
  const world = new World()
  const events = await world.open({ routes, streams })
  await publish(events, 1024, 'logs')
  await events.prune()
  set(world, year)
  await events.prune()
  await publish(events, 1, 'logs')
  for (let i = 0; i < 4; i++) {
    const again = await world.open({ routes, streams })
    await run(world, again, 2 * hour)
    assert.equal(await world.firstOf(logs), 0)
  }
  await run(world, await world.open({ routes, streams }), 9 * hour)
  assert.equal(await world.firstOf(logs), undefined)
})

for (const [name, wrong] of [
  ['1970', -53 * year],
  ['2100', 74 * year],
] as const)
  test(`a node that starts in ${name}, and gets the right time later, removes all events at their age`, async () => {
    const world = new World()
    const before = await world.open({ routes, streams })
    await publish(before, 1024, 'logs')
    await before.prune()
    world.pass(hour)
    set(world, wrong)
    const events = await world.open({ routes, streams })
    await publish(events, 1024, 'logs')
    await run(world, events, 1200)
    set(world, -wrong)
    await run(world, events, 8 * hour)
    assert.equal(await world.firstOf(logs), 0, 'none is older than ten hours')
    await run(world, events, 4 * hour)
    await publish(events, 1, 'logs')
    await run(world, events, 7 * hour)
    assert.equal(await world.firstOf(logs), 2048, 'all but the last are nearly twice as old as allowed')
    await run(world, events, 10 * hour)
    assert.equal(await world.firstOf(logs), undefined)
  })

test('events of a year ahead, from before anything was remembered, keep no others that are too old', async () => {
  const world = new World()
  set(world, year)
  const before = await world.open({ routes })
  await publish(before, 2048, 'logs')
  set(world, -year)
  await publish(before, 1024, 'logs')
  const events = await world.open({ routes, streams })
  await run(world, events, 16 * hour)
  assert.equal(await world.firstOf(logs), undefined)
})

test('a lone node that never runs for long removes events in the end', async () => {
  const world = new World()
  const first = await world.open({ routes, streams })
  await publish(first, 1024, 'logs')
  await first.prune()
  let starts = 0
  for (; (await world.firstOf(logs)) !== undefined && starts < 10; starts++) {
    world.pass(24 * hour)
    await run(world, await world.open({ routes, streams }), 1200)
  }
  assert.equal(starts, 2)
})

test('a malformed record of the clock is reported, and replaced', async () => {
  const world = new World()
  await world.store.saveClockRecord('{}')
  const events = await world.open({ routes, streams })
  await events.prune()
  assert.ok(world.log.some((line) => line.includes('WARN events: the stored record of the clock is malformed')))
  assert.match((await world.store.clockRecord()) ?? '', /^\{"seen":/)
})

test('without limits of age nothing is saved about the clock', async () => {
  const world = new World()
  const events = await world.open({ routes, streams: { logs: { maxEvents: 1 } } })
  await run(world, events, 2 * hour)
  assert.equal(await world.store.clockRecord(), undefined)
})

test('what the clock shows is saved every ten minutes at most, and at once when it was set', async () => {
  const world = new World()
  let saved = 0
  const store = new Proxy(world.store, {
    get: (target, name) => {
      if (name === 'saveClockRecord') saved++
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const events = await world.open({ routes, streams }, store)
  for (let i = 0; i < 60; i++) {
    await events.prune()
    world.pass(60)
  }
  assert.equal(saved, 6)
  set(world, year)
  await events.prune()
  assert.equal(saved, 7)
})

test('a clock that is set while events are pruned removes nothing early', async () => {
  const world = new World()
  const setMeanwhile: Partial<typeof world.store> = {
    chunkSizes: async (stream) => {
      set(world, year)
      return await world.store.chunkSizes(stream)
    },
  }
  const store = new Proxy(world.store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name in setMeanwhile ? setMeanwhile : target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const events = await world.open({ routes, streams }, store)
  await publish(events, 1024, 'logs')
  await events.prune()
  await events.prune()
  assert.equal(await world.firstOf(logs), 0)
  assert.ok(
    world.log.some((line) => line.includes('the clock was set by')),
    'it was set',
  )
})
