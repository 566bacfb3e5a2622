import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Random } from '../../scripts/crash/random.ts'
import { parseQuery } from '../../src/aql/index.ts'
import type { AqlEvent } from '../../src/aql/values/event.ts'
import { Events } from '../../src/events/index.ts'
import { KeyPair, nodeIdOf } from '../../src/identity/index.ts'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { PeriodicTask } from '../../src/runtime/periodic-task.ts'
import type { Runtime } from '../../src/runtime/system-runtime.ts'
import { systemTimers } from '../../src/runtime/timers.ts'
import type { EventStore } from '../../src/store/index.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { linesOf } from '../aql/eval/run.ts'
import { eventsIn } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { testSeed } from '../support/seed.ts'
import { SingleThreadStore } from '../support/single-thread-store.ts'
import { type VirtualRuntime, virtualRuntime } from '../support/virtual-runtime.ts'
import { limitsOf } from './retention/world.ts'

type OpenStore = (t: TestContext, runtime: Runtime, key: KeyPair) => EventStore

const topic = 'repeated'
const steps = 40
const minuteMs = 60_000

/** Time only moves between two steps, so jobs run on the real event loop. */
const storeRuntime = ({ clock, random }: Runtime): Runtime => ({ clock, random, timers: systemTimers })

const stores: Readonly<Record<string, OpenStore>> = {
  'in memory': (_, runtime, key) =>
    new MemoryEventStore({
      runtime: storeRuntime(runtime),
      topic,
      kind: 'live',
      key,
      now: runtime.clock.now,
    }),
  'of SQLite without threads': (t, runtime, key) =>
    new SingleThreadStore({
      runtime: storeRuntime(runtime),
      file: join(temporaryFolder(t), 'log.db'),
      topic,
      kind: 'live',
      key,
      now: runtime.clock.now,
      random: runtime.random,
    }),
}

/** One run of a node on a store, with all its observable output. */
class Run {
  readonly seen: string[] = []
  readonly #runtime: VirtualRuntime
  readonly #choices: Random
  readonly #key: KeyPair
  readonly #store: EventStore

  constructor(t: TestContext, open: OpenStore, seed: string) {
    this.#runtime = virtualRuntime(seed)
    this.#choices = new Random(`choices ${seed}`)
    this.#key = KeyPair.generate(this.#runtime.random)
    this.#store = open(t, this.#runtime, this.#key)
    t.after(() => this.#store.close())
  }

  async all(): Promise<readonly string[]> {
    const { clock, timers } = this.#runtime
    const output = logOutput(textLine(false), { write: (text) => this.seen.push(text), flush: async () => {} }, clock)
    const events = await Events.open(this.#store, {
      node: nodeIdOf(this.#key.publicKey),
      routes: [{ from: "'logs'", into: 'logs' }],
      streams: limitsOf({ logs: { maxAge: '2h' } }),
      log: new Logger(output, 'events'),
      clock,
      timers,
    })
    let pruning = Promise.resolve()
    const prune = (): Promise<void> => {
      pruning = events.prune()
      return pruning
    }
    const failed = (error: unknown): never => assert.fail(String(error))
    new PeriodicTask(timers, prune, { succeeded: () => {}, failed }).every(30 * minuteMs)
    for (let step = 0; step < steps; step++) {
      timers.advance(this.#choices.below(15 * minuteMs))
      await pruning
      await this.#step(events)
    }
    await this.#stored()
    return this.seen
  }

  #step(events: Events): Promise<void> {
    const choice = this.#choices.below(10)
    if (choice < 6) return this.#publish(events)
    if (choice < 8) return this.#redact()
    return this.#query()
  }

  async #publish(events: Events): Promise<void> {
    const tag = this.#choices.pick(['logs', 'logs', 'other'])
    const count = 1 + this.#choices.below(500)
    const data = Array.from({ length: count }, () => ({ tags: [tag], payload: this.#choices.below(1000) }))
    this.seen.push(String(await events.publish('com.example.app', Buffer.from(JSON.stringify({ data })))))
  }

  async #redact(): Promise<void> {
    const streams = (await this.#store.streams()).filter(({ count, pruned }) => count > pruned)
    const stream = streams[this.#choices.below(streams.length)]
    if (stream === undefined) return
    const offset = stream.pruned + this.#choices.below(stream.count - stream.pruned)
    this.seen.push(digest(await this.#store.redact(stream.key.number, [offset])))
    if (this.#store instanceof SingleThreadStore) this.#store.settle()
  }

  /** A query that depends on the current time. */
  async #query(): Promise<void> {
    const minutes = 1 + this.#choices.below(60)
    const text = `FROM allEvents & TIME > ${minutes}m ago FILTER _ < 500 SELECT [_, TIME(_)]`
    const query = parseQuery(text, { now: BigInt(this.#runtime.clock.now()) })
    const events = (await eventsIn(this.#store)).map(eventOf)
    this.seen.push(...linesOf(query, events))
  }

  /** Everything in the store: events, heads, checkpoints and chunks. */
  async #stored(): Promise<void> {
    this.seen.push(...(await eventsIn(this.#store)))
    for (const { number, key, count, pruned } of await this.#store.streams()) {
      this.seen.push(`stream ${key.number}: ${pruned} to ${count}, head ${digest(await this.#store.head(number))}`)
      for (const checkpoint of await this.#store.checkpoints(number))
        this.seen.push(`checkpoint ${checkpoint.count} ${digest(checkpoint.head)}`)
      for (const { first } of await this.#store.chunkSizes(number))
        this.seen.push(`chunk ${first} ${digest(await this.#store.chunk(number, first))}`)
    }
  }
}

function eventOf(line: string): AqlEvent {
  const { lamport, stream, offset, timestamp: time, tags, appId, payload } = JSON.parse(line)
  const [, node = '', number] = /^(.*)-(\d+)$/.exec(stream) ?? []
  const key = { node, number: Number(number) }
  return { lamport, stream: key, offset, time, tags, appId, own: true, payload: JSON.stringify(payload) }
}

function digest(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? 'none' : createHash('sha256').update(bytes).digest('hex')
}

for (const [name, open] of Object.entries(stores))
  test(`two runs with the same seed over a store ${name} have the same responses, records, heads and chunks`, async (t) => {
    const seed = String(testSeed(t))
    const first = await new Run(t, open, seed).all()
    assert.deepEqual(await new Run(t, open, seed).all(), first)
  })

test('both stores have the same run from one seed, and another run from another seed', async (t) => {
  const seed = testSeed(t)
  const [inMemory, sqlite] = Object.values(stores) as [OpenStore, OpenStore]
  const run = await new Run(t, inMemory, String(seed)).all()
  assert.deepEqual(await new Run(t, sqlite, String(seed)).all(), run)
  assert.notDeepEqual(await new Run(t, inMemory, String(seed + 1)).all(), run)
})
