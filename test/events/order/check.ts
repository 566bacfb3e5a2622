import { deepEqual } from 'node:assert/strict'
import { runToEnd } from '../../../src/aql/index.ts'
import { makeMonotonicJob } from '../../../src/events/query/monotonic-job.ts'
import { makeQueryJob } from '../../../src/events/query/query-job.ts'
import { makeSubscribeJob } from '../../../src/events/query/subscribe-job.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { Job } from '../../../src/store/jobs/job.ts'
import * as fc from '../../support/property.ts'
import {
  type Message,
  naiveMonotonic,
  naiveQuery,
  naiveSubscribe,
  type Offsets,
  presentOf,
  type Wanted,
} from './naive.ts'
import { type Batch, type OtherNode, type OwnBatch, otherNode, type PlainEvent, World } from './world.ts'

type Step =
  | { readonly kind: 'publish'; readonly batch: OwnBatch }
  | { readonly kind: 'receive'; readonly node: number; readonly upTo: number }
  | { readonly kind: 'read' }

/** Events that arrive at a node in some order, and the query that observes them. */
export interface Interleaving {
  readonly others: readonly (readonly Batch[])[]
  readonly before: readonly Step[]
  readonly after: readonly Step[]
  readonly wanted: Wanted
  /** Lower bounds, as fractions of the present offsets. */
  readonly bounds: readonly number[]
}

const anyBatch = { count: fc.integer({ min: 1, max: 4 }), tag: fc.constantFrom('a' as const, 'b' as const) }
const batch = fc.record(anyBatch)
const ownBatch = fc.record({ ...anyBatch, streams: fc.integer({ min: 1, max: 3 }), first: fc.nat(2) })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('publish' as const), batch: ownBatch }) },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('receive' as const), node: fc.nat(2), upTo: fc.nat(5) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('read' as const) }) },
)

export const interleavings: fc.Arbitrary<Interleaving> = fc.record({
  others: fc.array(fc.array(batch, { minLength: 1, maxLength: 6 }), { minLength: 3, maxLength: 3 }),
  before: fc.array(step, { maxLength: 8 }),
  after: fc.array(step, { maxLength: 14 }),
  wanted: fc.record({ tag: fc.constantFrom('a', 'b', 'any'), evenOnly: fc.boolean() }),
  bounds: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
})

export class OrderCheck {
  readonly #folder: string
  #worlds = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  async check({ others, before, after, wanted, bounds }: Interleaving): Promise<void> {
    const nodes = await Promise.all(others.map((batches, i) => otherNode(i, batches)))
    const world = new World(this.#folder, this.#worlds++)
    try {
      for (const one of before) take(world, nodes, one)
      const lower = lowerBound(world.arrived, bounds)
      const jobs = [makeSubscribeJob, makeMonotonicJob].map(
        (make) => new Consumer(runToEnd(make(world.reader, ask(wanted, lower), systemClock))),
      )
      const bursts: PlainEvent[][] = [[...world.arrived]]
      for (const consumer of jobs) consumer.read()
      let seen = world.arrived.length
      for (const one of [...after, { kind: 'read' } as const]) {
        take(world, nodes, one)
        if (one.kind !== 'read') continue
        for (const consumer of jobs) consumer.read()
        bursts.push(world.arrived.slice(seen))
        seen = world.arrived.length
      }
      deepEqual(jobs[0]?.messages, naiveSubscribe(bursts, wanted, lower))
      deepEqual(jobs[1]?.messages, naiveMonotonic(bursts, wanted, lower))
      this.#checkQueries(world, wanted, lower)
    } finally {
      world.close()
    }
  }

  #checkQueries({ reader, arrived }: World, wanted: Wanted, lower: Offsets): void {
    for (const order of ['asc', 'desc'] as const) {
      for (const upperBound of [undefined, lower]) {
        const job = makeQueryJob(reader, { ...ask(wanted, {}), order, upperBound }, systemClock)
        deepEqual(new Consumer(runToEnd(job)).read(), naiveQuery(arrived, wanted, {}, upperBound, order))
      }
      const job = makeQueryJob(reader, { ...ask(wanted, lower), order, upperBound: undefined }, systemClock)
      deepEqual(new Consumer(runToEnd(job)).read(), naiveQuery(arrived, wanted, lower, undefined, order))
    }
  }
}

function take(world: World, nodes: readonly OtherNode[], one: Step): void {
  if (one.kind === 'publish') world.publish(one.batch)
  if (one.kind !== 'receive') return
  const node = nodes[one.node] as OtherNode
  world.receive(node, Math.min(one.upTo, node.chunks.length - 1))
}

function ask({ tag, evenOnly }: Wanted, lower: Offsets): Record<string, unknown> {
  const query = `FROM ${tag === 'any' ? 'allEvents' : `'${tag}'`}${evenOnly ? ' FILTER _ % 2 = 0' : ''}`
  return { query, appId: 'com.example.a', via: 'http', lowerBound: lower }
}

/** A lower bound within the arrived events. */
function lowerBound(arrived: readonly PlainEvent[], parts: readonly number[]): Record<string, number> {
  const streams = Object.entries(presentOf(arrived))
  return Object.fromEntries(
    streams.slice(0, parts.length).map(([stream, last], i) => [stream, Math.floor((parts[i] as number) * last)]),
  )
}

/** The consumer of a query or subscription. */
class Consumer {
  readonly messages: Message[] = []
  readonly #job: Job
  #done = false

  constructor(job: Job) {
    this.#job = job
  }

  /** Runs the job until it is done or waits for events. */
  read(): Message[] {
    while (!this.#done) {
      this.#job.begin()
      const state = this.#job.run(Number.POSITIVE_INFINITY)
      for (const line of Buffer.from(this.#job.take()).toString().split('\n').slice(0, -1))
        this.messages.push(messageOf(line))
      this.#done = state === 'done'
      if (state === 'waiting') break
    }
    return this.messages
  }
}

function messageOf(line: string): Message {
  const message = JSON.parse(line) as Record<string, unknown>
  if (message['type'] === 'offsets') return { type: 'offsets', offsets: message['offsets'] as Offsets }
  const { stream, offset } = (message['newStart'] ?? message) as { stream: string; offset: number }
  const type = message['type'] === 'timeTravel' ? 'timeTravel' : 'event'
  const caughtUp = message['caughtUp'] as boolean | undefined
  return { type, stream, offset, ...(caughtUp !== undefined && { caughtUp }) } as Message
}
