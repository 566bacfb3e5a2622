import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ShoalError } from '../../../src/base/errors.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { MalformedBytes } from '../../../src/protocol/index.ts'
import { readChunk } from '../../../src/replication/index.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { type JobName, type JobRequest, Live, resultLines } from '../acceptance/jobs.ts'
import { memoryStore } from '../acceptance/sources.ts'
import { openMemory, openSingleThread, openSqlite } from '../acceptance/stores.ts'
import { hex, nameOf, requestOf, type TestEvent } from '../acceptance/support.ts'
import type { QuerySpec, Step, Tag } from './steps.ts'

/** An operation on a store, with a comparable result. */
type Operation = (store: EventStore) => Promise<unknown>

interface Node {
  readonly store: EventStore
  readonly chunks: Uint8Array[]
  /** Number of events that were collected in chunks, and number of these chunks that were received. */
  collected: number
  received: number
}

interface Subscription {
  readonly lives: readonly Live[]
  isOver: boolean
}

/** Published after each step: a subscription that has sent it has sent all before it. Passes all filters and bounds. */
const marker = { stream: 9, tags: ['marker'], payload: '3000001' }

/** Three stores that perform the same operations. */
export class World {
  readonly #stores: readonly EventStore[]
  readonly #settle: () => Promise<void>
  readonly #nodes: readonly Node[]
  readonly #subscriptions: Subscription[] = []
  readonly #count: (what: string) => void
  #events = 0

  private constructor(stores: readonly EventStore[], settle: () => Promise<void>, count: (what: string) => void) {
    this.#stores = stores
    this.#settle = settle
    this.#count = count
    this.#nodes = [1, 2].map((seed) => ({
      store: memoryStore(new KeyPair(Buffer.alloc(32, seed))),
      chunks: [],
      collected: 0,
      received: 0,
    }))
  }

  static async open(t: TestContext, count: (what: string) => void): Promise<World> {
    const options = { key: new KeyPair(Buffer.alloc(32, 9)), queries: true }
    const [threads, single] = [await openSqlite(t, options), await openSingleThread(t, options)]
    const settle = async (): Promise<void> => {
      await threads.settle()
      single.settle()
    }
    return new World([await openMemory(t, options), threads, single], settle, count)
  }

  async perform(step: Step): Promise<void> {
    await this.#take(step)
    this.#count(step.kind)
    await this.#readSubscriptions()
    await this.#same(stateOf)
  }

  async close(): Promise<void> {
    for (const { lives } of this.#subscriptions) for (const { reading } of lives) reading.cancel()
    await Promise.all(this.#stores.map((store) => store.close()))
  }

  #take(step: Step): Promise<unknown> {
    switch (step.kind) {
      case 'publish':
        return this.#append(this.#newEvents(step.count, step.tag, () => step.stream))
      case 'publish to all':
        return this.#append(this.#newEvents(step.count, step.tag, (i) => i % 3))
      case 'write elsewhere':
        return this.#writeElsewhere(this.#node(step.node), step.count, step.tag)
      case 'receive':
        return this.#receive(
          at(
            this.#nodes.flatMap(({ chunks }) => chunks),
            step.pick,
          ),
        )
      case 'receive next':
        return this.#receiveNext(this.#node(step.node))
      case 'prune':
        return this.#prune(step.stream, step.pick)
      case 'prune elsewhere':
        return this.#pruneElsewhere(this.#node(step.node), step.pick, step.withHead)
      case 'redact':
        return this.#same((store) => outcome(store.redact(step.stream, [step.offset % (this.#events + 1)])))
      case 'redact elsewhere':
        return this.#redactElsewhere(this.#node(step.node), step.offset)
      case 'seal':
        return this.#settle()
      case 'query':
        return this.#query(step.spec)
      case 'subscribe':
        return this.#subscribe(step.monotonic ? 'subscribe_monotonic' : 'subscribe', step.spec)
    }
  }

  /** Performs an operation on all stores, and compares the results. */
  async #same(operation: Operation): Promise<unknown> {
    const [expected, ...others] = await Promise.all(this.#stores.map(operation))
    for (const other of others) assert.deepEqual(other, expected)
    return expected
  }

  /** Returns the lamport timestamp of the first event. */
  async #append(events: readonly TestEvent[]): Promise<number> {
    const appended = await this.#same(async (store) => {
      const { lamport, runs } = await store.append(requestOf(events))
      return { lamport, runs }
    })
    return (appended as { readonly lamport: number }).lamport
  }

  async #writeElsewhere(node: Node, count: number, tag: Tag): Promise<void> {
    await node.store.append(requestOf(this.#newEvents(count, tag, () => 0)))
    // Events that were pruned before they were collected.
    const [stream] = await node.store.streams()
    node.collected = Math.max(node.collected, stream?.pruned ?? 0)
    for (;;) {
      const chunk = await node.store.chunk(0, node.collected)
      if (chunk === undefined) return
      node.chunks.push(chunk)
      const { head } = readChunk(chunk)
      // A chunk without a checkpoint is collected again, with the events after it.
      if (!head.checkpoint) return
      node.collected = head.count
    }
  }

  async #receive(chunk: Uint8Array | undefined): Promise<void> {
    if (chunk === undefined) return
    const received = (await this.#same((store) => outcome(store.receive(chunk), (answer) => answer))) as {
      readonly state?: string
    }
    this.#count(`chunk ${received.state}`)
  }

  async #receiveNext(node: Node): Promise<void> {
    const chunk = node.chunks[node.received]
    if (chunk === undefined) return
    node.received++
    await this.#receive(chunk)
  }

  async #prune(stream: number, pick: number): Promise<void> {
    const own = (await this.#first.streams()).find(({ own, key }) => own && key.number === stream)
    const checkpoints = own === undefined ? [] : await this.#first.checkpoints(own.number)
    // Some counts are those of another frame, or of none.
    const frames = own === undefined ? [] : await this.#first.framesOfChunk(own.number, own.pruned)
    const count = [pick % 2000, at(frames, pick)?.end, at(checkpoints, pick)?.count][pick % 3] ?? 7
    if ((await this.#same((store) => outcome(store.prune(stream, count)))) === 'done') this.#count('pruned')
  }

  async #pruneElsewhere({ store: source }: Node, pick: number, withHead: boolean): Promise<void> {
    const [stream] = await source.streams()
    if (stream === undefined) return
    const places = pick % 2 === 0 ? await source.framesOfChunk(0, stream.pruned) : await source.checkpoints(0)
    const place = at<{ count: number } | { end: number }>(places, pick)
    if (place === undefined) return
    const record = await source.prune(0, 'end' in place ? place.end : place.count)
    const head = withHead ? (await source.checkpoints(0))[0]?.head : undefined
    await this.#same((store) => outcome(store.applyPrune(record, head)))
    this.#count('pruned by others')
  }

  async #redactElsewhere({ store: source }: Node, offset: number): Promise<void> {
    const [stream] = await source.streams()
    if (stream === undefined) return
    const record = await source.redact(0, [offset % (stream.count + 3)]).catch(() => undefined)
    if (record !== undefined) await this.#same((store) => outcome(store.applyRedaction(record)))
  }

  async #query(spec: QuerySpec): Promise<void> {
    const request = await this.#requestOf(spec)
    const lines = (await this.#same(async (store) => (await resultLines(store, request)).map(timeless))) as string[]
    this.#count(lines.length > 1 ? 'query with results' : 'query without results')
  }

  async #subscribe(job: JobName, spec: QuerySpec): Promise<void> {
    const { query, lowerBound } = await this.#requestOf(spec, `(${spec.tags}) | '${marker.tags[0]}'`)
    const request = { query, ...(lowerBound && { lowerBound }) }
    const lives = this.#stores.map((store) => new Live(store, job, request))
    const started = await Promise.all(lives.map(({ reading }) => outcome(reading.started)))
    for (const other of started) assert.deepEqual(other, started[0])
    if (started[0] === 'done') this.#subscriptions.push({ lives, isOver: false })
  }

  /** Reads the results of the last step, up to a marker event after it. */
  async #readSubscriptions(): Promise<void> {
    const open = this.#subscriptions.filter(({ isOver }) => !isOver)
    if (open.length === 0) return
    const lamport = await this.#append([marker])
    for (const subscription of open) {
      const found = await Promise.all(subscription.lives.map((live) => linesUpTo(live, lamport)))
      const [expected] = found
      for (const other of found) assert.deepEqual(other, expected)
      subscription.isOver = expected?.isOver ?? true
      if (expected !== undefined && expected.lines.length > 1) this.#count('subscription with results')
      if (subscription.isOver) this.#count('subscription at its end')
    }
  }

  /** A request with bounds within the present, or slightly beyond it. */
  async #requestOf(
    { stages, order, lower, upper, ...querySpec }: QuerySpec,
    tags = querySpec.tags,
  ): Promise<JobRequest> {
    const streams = (await this.#first.streams()).filter(({ key }) => key.number !== marker.stream)
    const bounds = (parts: readonly number[]): Record<string, number> =>
      Object.fromEntries(
        streams
          .slice(0, parts.length)
          .filter(({ count }) => count > 0)
          .map((stream, i) => [nameOf(stream), Math.floor((parts[i] ?? 0) * (stream.count - 1))]),
      )
    return {
      query: `FROM ${tags}${stages}`,
      order,
      lowerBound: bounds(lower),
      ...(upper !== null && { upperBound: bounds(upper) }),
    }
  }

  #newEvents(count: number, tag: Tag, streamOf: (i: number) => number): TestEvent[] {
    return Array.from({ length: count }, (_, i) => {
      const n = this.#events++
      const tags = [tag, `of7:${n % 7}`, ...(n % 5 === 0 ? ['a', 'b'] : [])]
      const appId = n % 4 === 0 ? 'com.example.b' : 'com.example.a'
      return { stream: streamOf(i), appId, tags: [...new Set(tags)].sort(), payload: String(n) }
    })
  }

  #node(number: number): Node {
    return this.#nodes[number] as Node
  }

  get #first(): EventStore {
    return this.#stores[0] as EventStore
  }
}

/** The state of the streams of a store, without values that depend on its clock and random numbers. */
async function stateOf(store: EventStore): Promise<unknown> {
  const streams = await store.streams()
  const table = (await store.heads()).map(({ number, own, count, pruned, lamport, hash }) => {
    return { number, own, count, pruned, lamport, hash: own ? '' : Buffer.from(hash, 'latin1').toString('hex') }
  })
  const states = await Promise.all(
    streams.map(async (stream) => {
      const { number, own, count, pruned } = stream
      const checkpoints = (await store.checkpoints(number)).map(({ count }) => count)
      const sizes = (await store.chunkSizes(number)).map(({ first, end, complete }) => ({ first, end, complete }))
      const chunk = await store.chunk(number, pruned)
      const { frames = [], head } = chunk === undefined ? {} : readChunk(chunk)
      const last = head?.count
      const border = frames.at(-1)?.first ?? count
      const rest = await store.chunk(number, border)
      const hash = await store.hashAt(number, border)
      return {
        name: nameOf(stream),
        number,
        own,
        count,
        pruned,
        checkpoints,
        sizes,
        last,
        border,
        chunk: own ? '' : hex(chunk),
        rest: own ? rest?.length : hex(rest),
        hash: own ? hash?.length : hash,
      }
    }),
  )
  return { states, table }
}

/** The outcome of a call, without details that differ between stores. */
async function outcome<T>(work: Promise<T>, answer: (result: T) => unknown = () => 'done'): Promise<unknown> {
  try {
    return answer(await work)
  } catch (error) {
    if (error instanceof ShoalError) return { code: error.code }
    if (error instanceof MalformedBytes) return 'malformed'
    throw error
  }
}

/** The lines of a subscription up to the event with a lamport timestamp, or to its end. */
async function linesUpTo(live: Live, lamport: number): Promise<{ lines: string[]; isOver: boolean }> {
  const lines: string[] = []
  for (;;) {
    const line = await live.next()
    if (line === undefined) return { lines, isOver: true }
    lines.push(withoutCaughtUp(timeless(line)))
    if (line.includes(`"lamport":${lamport},`)) return { lines, isOver: false }
  }
}

/** Timestamps of own events differ between stores. */
function timeless(line: string): string {
  return line.replace(/"timestamp":\d+/, '"timestamp":0')
}

/** `caughtUp` depends on how many commits are read at once. */
function withoutCaughtUp(line: string): string {
  return line.replace(/,"caughtUp":(true|false)}$/, '}')
}

/** The element at an index modulo the length. */
function at<T>(list: readonly T[], place: number): T | undefined {
  return list[place % list.length]
}
