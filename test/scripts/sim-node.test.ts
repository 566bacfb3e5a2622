import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agenda, SimClock, timersOf } from '../../scripts/sim/agenda.ts'
import { contentsOf, lastOf } from '../../scripts/sim/checks/names.ts'
import { Ledger, streamIdOf } from '../../scripts/sim/ledger.ts'
import { isRefusal, RecordedStore } from '../../scripts/sim/recorded-store.ts'
import { SimRetention } from '../../scripts/sim/sim-retention.ts'
import { failure } from '../../src/base/errors.ts'
import { KeyPair, nodeAppId } from '../../src/identity/index.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { World } from '../events/retention/world.ts'
import { FactSwarm, steps, winnersOf } from '../facts/fact-swarm.ts'
import { packed } from '../support/events.ts'
import * as fc from '../support/property.ts'
import { SeededRandom } from '../support/virtual-runtime.ts'

function recorded() {
  const agenda = new Agenda()
  const key = new KeyPair(Buffer.alloc(32, 3))
  const clock = new SimClock(agenda, 1_704_067_200_000_000)
  const runtime = { clock, timers: timersOf(agenda), random: new SeededRandom('recorded') }
  const [ledger, prunes] = [new Ledger(), [] as string[]]
  const streamId = (number: number): string => streamIdOf(key.publicKey, number)
  const log = new RecordedStore({
    store: new MemoryEventStore({ topic: 't', kind: 'live', key, now: clock.now, runtime }),
    ledger,
    label: 'n0',
    nowMs: () => agenda.nowMs,
    streamId,
    beforePrune: (stream, count) => void prunes.push(`before ${stream} ${count}`),
    pruned: async (stream) => void prunes.push(`after ${stream}`),
  })
  return { log, ledger, prunes, streamId }
}

const event = (payload: string, appId = 'com.example.a') => ({ appId, tags: ['ans'], payload })

test('a recorded store notes what it acknowledges: payloads by offset, and facts that are no copies', async () => {
  const { log, ledger, prunes, streamId } = recorded()
  const fact = event('{"Remove":{"name":"site"}}', nodeAppId)
  const copy = event('{"Remove":{"name":"site"},"copyOf":7}', nodeAppId)
  const events = [event('1'), fact, copy, event('2')]
  const appended = log.store.append({ ...packed(events), streams: Uint32Array.of(0, 3, 3, 0) })
  const { lamport } = await appended
  assert.deepEqual(ledger.payloads(streamId(0)), ['1', '2'])
  assert.deepEqual(ledger.payloads(streamId(3)), [fact.payload, copy.payload])
  assert.deepEqual(ledger.facts, [
    { lamport: lamport + 1, stream: streamId(3), tags: ['ans'], payload: { Remove: { name: 'site' } } },
  ])
  await log.store.prune(3, 2)
  assert.equal(ledger.prunedOf(streamId(3)), 2)
  assert.deepEqual(prunes, [`before ${streamId(3)} 2`, 'after 3'])
})

test('a recorded store refuses changes after the end of its process', async () => {
  const { log, ledger } = recorded()
  await log.store.close()
  await assert.rejects(log.store.append({ ...packed([event('1')]), streams: Uint32Array.of(0) }), isRefusal)
  await assert.rejects(log.store.prune(0, 1), isRefusal)
  assert.equal(ledger.events, 0)
})

test('an error that a refusal has caused is a refusal, others are not', () => {
  assert.ok(isRefusal(new Error('stream', { cause: failure('ERR_SHUTTING_DOWN', {}) })))
  assert.ok(!isRefusal(new Error('stream', { cause: new Error('defect') })))
  assert.ok(!isRefusal(undefined))
})

test('events that are pruned too early for their age are noticed, whatever the clock of the node shows', async () => {
  const agenda = new Agenda()
  const ledger = new Ledger()
  const clock = new SimClock(agenda, 0)
  const retention = new SimRetention({ label: 'n0', ledger, agenda, clock, timers: timersOf(agenda) })
  ledger.add('node-0', 0, ['1', '2'], 0)
  await agenda.runUntil(8000)
  ledger.add('node-0', 2, ['3'], 8000)
  retention.limit(10_000)
  retention.check('node-0', 2)
  assert.throws(() => retention.check('node-0', 3), /prunes node-0\/2 at an age of 0 ms/)
  assert.equal(retention.settings['app']?.maxAge, '10s')
})

test('a node whose clock was set shortly before a restart may prune too early, if it had no limit of age then', async () => {
  for (const [isSet, isLimited] of [
    [true, false],
    [false, false],
    [true, true],
  ] as const) {
    const agenda = new Agenda()
    const ledger = new Ledger()
    const clock = new SimClock(agenda, 0)
    const retention = new SimRetention({ label: 'n0', ledger, agenda, clock, timers: timersOf(agenda) })
    const events = await new World().open()
    if (isLimited) retention.limit(10_000)
    retention.start(events)
    // A step waits for the work that has begun.
    agenda.after(1000, () => {})
    await agenda.runUntil(1000)
    if (isSet) clock.wallAtStart += 3600e6
    retention.pause()
    retention.limit(10_000)
    ledger.add('node-0', 0, ['1'], 1000)
    const check = (): void => retention.check('node-0', 1)
    if (isSet && !isLimited) check()
    else assert.throws(check, /at an age of 0 ms/)
  }
})

test('the last facts by definition are those that win in the product', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const swarm = new FactSwarm(list)
      assert.deepEqual(new Map(contentsOf(winnersOf(swarm.stored))), lastOf(swarm.originals))
    }),
  )
})
