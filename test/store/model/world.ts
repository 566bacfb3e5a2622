import assert from 'node:assert/strict'
import { ShoalError } from '../../../src/base/errors.ts'
import { tuning } from '../../../src/base/tuning.ts'
import { formatStreamId, KeyPair, nodeIdOf, type PublicKey } from '../../../src/identity/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { systemRuntime } from '../../../src/runtime/system-runtime.ts'
import type { MemoryEventStore } from '../../../src/store/memory/memory-event-store.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { verifyLog } from '../../../src/store/sqlite/index.ts'
import { SqliteEventStore } from '../../../src/store/threads/sqlite-event-store.ts'
import { memoryStore } from '../acceptance/sources.ts'
import { requestOf } from '../acceptance/support.ts'
import {
  type NewEvent,
  type PlainChunk,
  type PlainEvent,
  type PlainSelection,
  PlainStore,
  type PlainStream,
} from './plain-store.ts'
import type { Batch, QuerySpec, Step, Write } from './steps.ts'

const topic = 'a-topic'

/** A store and its model. */
interface Pair<Store extends EventStore = EventStore> {
  readonly store: Store
  readonly model: PlainStore
}

/** A stream of another node; each sequence begins with a write to one of them. */
interface RemoteStream {
  readonly source: Pair
  readonly stream: PlainStream
}

interface Collected {
  readonly bytes: Uint8Array
  /** The head before it. */
  readonly before: Uint8Array | undefined
  readonly chunk: PlainChunk
}

/** A store on disk, other nodes that it receives chunks from, and a model of the expected results. */
export class World {
  readonly #file: string
  readonly #key: KeyPair
  readonly #model: PlainStore
  readonly #sources: Pair<MemoryEventStore>[]
  readonly #chunks: Collected[] = []
  /** The last prune record of each stream. */
  readonly #pruned = new Map<string, Uint8Array>()
  /** The redaction records, by stream and offset. */
  readonly #redactions = new Map<string, Uint8Array>()
  readonly #count: (what: string) => void
  #store: SqliteEventStore
  #events = 0

  private constructor(
    file: string,
    store: SqliteEventStore,
    key: KeyPair,
    sources: number,
    count: (what: string) => void,
  ) {
    this.#file = file
    this.#store = store
    this.#key = key
    this.#count = count
    this.#model = new PlainStore(hexOf(key.publicKey))
    this.#sources = Array.from({ length: sources }, () => {
      const other = KeyPair.generate(systemRandom)
      return { store: memoryStore(other, topic), model: new PlainStore(hexOf(other.publicKey)) }
    })
  }

  static async open(file: string, sources: number, count: (what: string) => void): Promise<World> {
    const key = KeyPair.generate(systemRandom)
    return new World(file, await openStore(file, key), key, sources, count)
  }

  async perform(step: Step): Promise<void> {
    if (step.kind === 'reopen') await this.#reopen()
    else if (step.kind === 'query') await this.#query(this.#selection(step.query))
    else if (step.kind === 'query during') await this.#queryDuring(step)
    else await this.#write(step)
    await this.#compareStreams()
  }

  /** Reads everything in all orders, replicates it to another node, and verifies every byte on disk. */
  async finish(): Promise<void> {
    for (const order of ['asc', 'desc', 'stream-asc'] as const) await this.#query({ anyOf: [{ tags: [] }], order })
    await this.#query({ anyOf: [{ tags: ['all'] }, { tags: ['of7:3'] }], order: 'asc' })
    for (const { store, model } of this.#sources) await compare(store, model, { anyOf: [{ tags: [] }], order: 'asc' })
    await this.#replicate()
    await this.close()
    assert.deepEqual(verifyLog(this.#file).problems, [])
  }

  async close(): Promise<void> {
    await this.#store.close()
  }

  async #reopen(): Promise<void> {
    await this.#store.close()
    this.#store = await openStore(this.#file, this.#key)
    this.#count('reopened')
  }

  async #write(step: Write): Promise<void> {
    switch (step.kind) {
      case 'append':
        return this.#append({ store: this.#store, model: this.#model }, step.batches)
      case 'append and settle':
        return this.#appendAndSettle(step)
      case 'append at once':
        return this.#appendAtOnce(step.requests.map((batches) => this.#newEvents(batches)))
      case 'others write':
        return this.#append(this.#source(step.source), step.batches)
      case 'others receive':
        return this.#othersReceive(this.#source(step.source), step.from)
      case 'collect':
        return this.#collect(this.#remoteStream(step.stream), step.part)
      case 'deliver':
        return this.#deliver(
          this.#chunks.length === 0 ? [] : step.picks.map((pick) => at(this.#chunks, pick) as Collected),
        )
      case 'deliver all':
        // A stream has to be known before its chunks may wait.
        return this.#deliver(step.reversed ? [...this.#chunks.slice(0, 1), ...this.#chunks.toReversed()] : this.#chunks)
      case 'settle':
        return this.#store.settle()
      case 'prune':
        return this.#prune(step.stream, step.pick)
      case 'others prune':
        return this.#othersPrune(this.#remoteStream(step.stream), step)
      case 'redact':
        return this.#redact(step.stream, step.offsets)
      case 'others redact':
        return this.#othersRedact(this.#remoteStream(step.stream), step)
    }
  }

  async #append({ store, model }: Pair, batches: readonly Batch[]): Promise<void> {
    const events = this.#newEvents(batches)
    const response = await store.append(requestOf(events))
    assert.deepEqual(response, model.append(events, response.time))
    model.endCommit()
  }

  async #appendAndSettle({ stream, chunks }: { stream: number; chunks: number }): Promise<void> {
    for (let i = 0; i < chunks; i++) {
      const style = i % 3 === 0 ? 'common' : 'both'
      await this.#append({ store: this.#store, model: this.#model }, [{ stream, count: 1024, style }])
      await this.#store.settle()
    }
  }

  async #appendAtOnce(requests: readonly NewEvent[][]): Promise<void> {
    const responses = await Promise.all(requests.map((events) => this.#store.append(requestOf(events))))
    for (const [i, events] of requests.entries())
      assert.deepEqual(responses[i], this.#model.append(events, responses[i]?.time ?? -1))
    const checkpoints = await Promise.all(
      this.#model.streams.map(async (_, number) => (await this.#store.checkpoints(number)).map(({ count }) => count)),
    )
    this.#model.endCommits((stream) => checkpoints[this.#model.streams.indexOf(stream)] ?? [])
  }

  /** Another node receives the own streams of this or a third node. */
  async #othersReceive(receiver: Pair, from: number): Promise<void> {
    const senders: Pair[] = [{ store: this.#store, model: this.#model }, ...this.#sources]
    const sender = at(senders, from) as Pair
    if (sender.model === receiver.model) return
    for (const [number, stream] of sender.model.streams.entries()) {
      if (!stream.own) continue
      for (let start = stream.pruned; ; ) {
        const collected = await collect(sender, number, start)
        if (collected === undefined) break
        await this.#sendRedactions(receiver, collected)
        assert.deepEqual(
          await receiver.store.receive(collected.bytes, { before: collected.before }),
          receiver.model.receive(collected.chunk),
        )
        start = collected.chunk.to
      }
    }
  }

  /** Collects chunks of another node, to be delivered at any time, in any order, any number of times. */
  async #collect({ source, stream }: RemoteStream, part: number | 'all'): Promise<void> {
    const number = source.model.streams.indexOf(stream)
    const all = [...new Set([stream.pruned, ...stream.checkpoints.map(({ count }) => count)])]
    for (const from of part === 'all' ? all : [at(all, part) as number]) {
      const collected = await collect(source, number, from)
      if (collected !== undefined) this.#chunks.push(collected)
    }
  }

  async #deliver(chunks: readonly Collected[]): Promise<void> {
    for (const collected of chunks) {
      await this.#sendRedactions({ store: this.#store, model: this.#model }, collected)
      const response = await this.#store.receive(collected.bytes, { before: collected.before })
      assert.deepEqual(response, this.#model.receive(collected.chunk))
      this.#count(`chunk ${response.state}`)
    }
  }

  /** Redaction records are sent before the chunks that lack the payloads. */
  async #sendRedactions({ store, model }: Partial<Pair> & Pick<Pair, 'store'>, { chunk }: Collected): Promise<void> {
    const { node, stream, events } = chunk
    for (const { offset, payload } of events) {
      if (payload !== null || model?.find(node, stream)?.redacted.has(offset) === true) continue
      await store.applyRedaction(this.#redactions.get(`${node}/${stream}/${offset}`) as Uint8Array)
      model?.redact(node, stream, offset)
    }
  }

  async #prune(pick: number, count: number): Promise<void> {
    const stream = at(ownStreams(this.#model), pick)
    if (stream === undefined) return
    const counts = [...stream.checkpoints.map((checkpoint) => checkpoint.count), stream.count]
    const target = at(counts, count) as number
    const record = await refusable(this.#store.prune(stream.stream, target))
    this.#settlePrune(stream, record, this.#model.prune(stream.node, stream.stream, target))
  }

  /** Another node prunes and sends its record, maybe with the head that a receiver with fewer events needs. */
  async #othersPrune({ source, stream }: RemoteStream, step: { pick: number; withHead: boolean }): Promise<void> {
    const checkpoint = at(stream.checkpoints, step.pick)
    if (checkpoint === undefined) return
    const number = source.model.streams.indexOf(stream)
    const head = (await source.store.checkpoints(number)).find(({ count }) => count === checkpoint.count)?.head
    const record = await source.store.prune(stream.stream, checkpoint.count)
    source.model.prune(stream.node, stream.stream, checkpoint.count)
    const applied = await refusable(this.#store.applyPrune(record, step.withHead ? head : undefined).then(() => record))
    const { node, stream: ofNode } = stream
    const done = this.#model.prune(node, ofNode, checkpoint.count, step.withHead ? checkpoint : undefined)
    this.#settlePrune(stream, applied, done)
  }

  #settlePrune(stream: PlainStream, record: Uint8Array | undefined, done: boolean): void {
    assert.equal(record !== undefined, done)
    this.#count(done ? 'pruned' : 'prune refused')
    if (record !== undefined) this.#pruned.set(idOf(stream), record)
  }

  async #redact(pick: number, offsets: readonly number[]): Promise<void> {
    const stream = at(ownStreams(this.#model), pick)
    if (stream === undefined) return
    for (const offset of offsets.map((place) => place % (stream.count + 1))) {
      const record = await refusable(this.#store.redact(stream.stream, [offset]))
      assert.equal(record !== undefined, offset < stream.count)
      if (record !== undefined) {
        this.#model.redact(stream.node, stream.stream, offset)
        this.#redactions.set(`${stream.node}/${stream.stream}/${offset}`, record)
      }
      this.#count(record === undefined ? 'redaction refused' : 'redacted')
    }
  }

  /** Another node redacts, and maybe sends its record, maybe before the event has arrived. */
  async #othersRedact({ source, stream }: RemoteStream, step: { offset: number; sendsRecord: boolean }): Promise<void> {
    const offset = step.offset % stream.count
    const record = await source.store.redact(stream.stream, [offset])
    this.#redactions.set(`${stream.node}/${stream.stream}/${offset}`, record)
    source.model.redact(stream.node, stream.stream, offset)
    if (!step.sendsRecord) return
    await this.#store.applyRedaction(record)
    this.#model.redact(stream.node, stream.stream, offset)
    this.#count('redacted by others')
  }

  async #query(selection: PlainSelection): Promise<void> {
    const found = await compare(this.#store, this.#model, selection)
    this.#count(found > 0 ? 'query with events' : 'query without events')
    if (found > 0 && (selection.lower?.size ?? 0) > 0) this.#count('query from a lower bound on')
    if (found > 0 && (selection.upper?.size ?? 0) > 0) this.#count('query up to an upper bound')
  }

  async #queryDuring({ queries, writes, atOnce }: Extract<Step, { kind: 'query during' }>): Promise<void> {
    const started = await Promise.all(
      queries.map(async (query) => {
        const selection = this.#selection(query)
        const expected = this.#model.select(selection)
        const pieces = this.#store.read(selection)[Symbol.asyncIterator]()
        return { expected, pieces, first: await pieces.next() }
      }),
    )
    const write = async (): Promise<void> => {
      for (const step of writes) await this.#write(step)
    }
    const read = (): Promise<string[][]> =>
      Promise.all(
        started.map(async ({ pieces, first }) =>
          linesOf(first.done === true ? [] : [first.value, ...(await rest(pieces))]),
        ),
      )
    let texts: string[][]
    if (atOnce) [texts] = await Promise.all([read(), write()])
    else {
      await write()
      texts = await read()
    }
    for (const [i, { expected }] of started.entries()) this.#checkStarted(texts[i] ?? [], expected, atOnce)
  }

  /** A read returns the events that existed when it started. Those removed since then may be missing. */
  #checkStarted(lines: readonly string[], expected: readonly PlainEvent[], atOnce: boolean): void {
    const present = new Set(this.#model.events.filter(({ payload }) => payload !== null).map(placeOf))
    const removed = new Set<string>()
    const late = new Set<string>()
    let bytes = 0
    for (const event of expected) {
      const line = lineOf(event)
      if (present.has(placeOf(event))) bytes += Buffer.byteLength(line) + 1
      else {
        removed.add(line)
        if (!atOnce && bytes > readAhead) late.add(line)
      }
    }
    const shown = new Set(lines)
    compareLines(
      lines.filter((line) => !removed.has(line)),
      expected.map(lineOf).filter((line) => !removed.has(line)),
    )
    compareLines(
      lines,
      expected.map(lineOf).filter((line) => shown.has(line)),
    )
    // An event that was removed before the read reached it must be missing.
    assert.deepEqual(
      lines.filter((line) => late.has(line)),
      [],
    )
    this.#count(removed.size > 0 ? 'read while events were removed' : 'read while events were written')
    if (late.size > 0) this.#count('removed before it was read')
  }

  /** A node that receives all chunks has all events. */
  async #replicate(): Promise<void> {
    const other = memoryStore(KeyPair.generate(systemRandom), topic)
    for (const [number, stream] of this.#model.streams.entries()) {
      const counts = stream.checkpoints.map(({ count }) => count)
      const checkpoints = await this.#store.checkpoints(number)
      assert.deepEqual(
        checkpoints.map(({ count }) => count),
        counts,
      )
      if (stream.pruned > 0) await other.applyPrune(this.#pruned.get(idOf(stream)) as Uint8Array, checkpoints[0]?.head)
      for (let from = stream.pruned; from < stream.count; ) {
        const collected = await collect({ store: this.#store, model: this.#model }, number, from)
        assert.ok(collected !== undefined)
        from = collected.chunk.to
        await this.#sendRedactions({ store: other }, collected)
        assert.deepEqual(await other.receive(collected.bytes, { before: collected.before }), {
          state: 'stored',
          count: from,
        })
      }
    }
    const copy = linesOf(await rest(other.read({ anyOf: [{ tags: [] }], order: 'asc' })[Symbol.asyncIterator]()))
    compareLines(copy, this.#model.select({ anyOf: [{ tags: [] }], order: 'asc' }).map(lineOf))
  }

  async #compareStreams(): Promise<void> {
    const streams = (await this.#store.streams()).map(({ number, key, own, count, pruned }) => [
      number,
      hexOf(key.node),
      key.number,
      own,
      count,
      pruned,
    ])
    const expected = this.#model.streams.map(({ node, stream, own, count, pruned }, number) => [
      number,
      node,
      stream,
      own,
      count,
      pruned,
    ])
    assert.deepEqual(streams, expected)
  }

  #source(pick: number): Pair<MemoryEventStore> {
    return at(this.#sources, pick) as Pair<MemoryEventStore>
  }

  #remoteStream(pick: number): RemoteStream {
    const streams = this.#sources.flatMap((source) => ownStreams(source.model).map((stream) => ({ source, stream })))
    return at(streams, pick) as RemoteStream
  }

  /** Non-adjacent numbers, and payloads of different sizes. */
  #newEvents(batches: readonly Batch[]): NewEvent[] {
    const streams = [0, 3, 1]
    return batches.flatMap(({ stream, count, style }) =>
      Array.from({ length: count }, () => newEvent(streams[stream] ?? 0, style, this.#events++)),
    )
  }

  #selection({ anyOf, order, lower, upper }: QuerySpec): PlainSelection {
    const bounds = (places: QuerySpec['lower']): Map<number, number> | undefined => {
      if (places === null) return undefined
      const found = this.#model.streams.flatMap(({ count }, number) => {
        const place = places[number % places.length] ?? null
        return place === null ? [] : [[number, (place % (count + 3)) - 1] as const]
      })
      return new Map(found)
    }
    const [above, below] = [bounds(lower), bounds(upper)]
    return {
      anyOf: anyOf.map(({ tags, ...rest }) => ({ ...rest, tags: tags.map((tag) => this.#tag(tag)) })),
      order,
      ...(above && { lower: above }),
      ...(below && { upper: below }),
    }
  }

  #tag(tag: QuerySpec['anyOf'][number]['tags'][number]): string {
    if ('text' in tag) return tag.text
    return 'common' in tag ? `of7:${tag.common}` : `id:${tag.unique % (this.#events + 1)}`
  }
}

/** Upper bound of the bytes that a read produces before the second piece is requested. */
const longestLine = 2048
const readAhead = tuning.queryCreditBytes + tuning.pieceBytes + longestLine

function openStore(file: string, key: KeyPair): Promise<SqliteEventStore> {
  return SqliteEventStore.open({ runtime: systemRuntime, file, topic, kind: 'live', key })
}

function newEvent(stream: number, style: Batch['style'], n: number): NewEvent {
  const common = ['all', `of7:${n % 7}`, ...(n % 11 === 0 ? ['ünï'] : [])]
  const unique = [`id:${n}`]
  const tags = { common, unique, both: [...unique, ...common], none: [] }[style]
  return {
    stream,
    appId: n % 5 === 0 ? 'com.example.b' : 'com.example.a',
    tags: tags.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    payload: n % 3 === 0 ? `{"n":${n},"text":"${'x'.repeat((n * 7919) % 400)}"}` : String(n),
  }
}

async function collect({ store, model }: Pair, number: number, from: number): Promise<Collected | undefined> {
  const bytes = await store.chunk(number, from)
  const chunk = model.chunk(model.streams[number] as PlainStream, from)
  assert.equal(bytes === undefined, chunk === undefined)
  const before = (await store.checkpoints(number)).find(({ count }) => count === from)?.head
  return bytes && chunk && { bytes, before, chunk }
}

/** The result, or undefined if the call was refused as invalid. */
async function refusable(response: Promise<Uint8Array>): Promise<Uint8Array | undefined> {
  try {
    return await response
  } catch (error) {
    if (error instanceof ShoalError && error.code === 'ERR_INVALID_INPUT') return undefined
    throw error
  }
}

/** Compares a read of a store with its model. Returns the number of events. */
async function compare(store: EventStore, model: PlainStore, selection: PlainSelection): Promise<number> {
  const lines = linesOf(await rest(store.read(selection)[Symbol.asyncIterator]()))
  compareLines(lines, model.select(selection).map(lineOf))
  return lines.length
}

async function rest(pieces: AsyncIterator<Buffer>): Promise<Buffer[]> {
  const found: Buffer[] = []
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) found.push(next.value)
  return found
}

function linesOf(pieces: readonly Buffer[]): string[] {
  return Buffer.concat(pieces).toString('utf8').split('\n').slice(0, -1)
}

/** Asserts that lines are equal; on failure shows the first difference instead of thousands of lines. */
function compareLines(actual: readonly string[], expected: readonly string[]): void {
  const first = expected.findIndex((line, i) => line !== actual[i])
  if (first >= 0)
    assert.equal(actual[first], expected[first], `line ${first} of ${expected.length}, got ${actual.length}`)
  assert.equal(actual.length, expected.length)
}

function lineOf({ node, stream, offset, lamport, time, tags, appId, payload }: PlainEvent): string {
  return (
    `{"type":"event","lamport":${lamport},"stream":"${idOf({ node, stream })}","offset":${offset},"timestamp":${time}` +
    `,"tags":${JSON.stringify(tags)},"appId":${JSON.stringify(appId)},"payload":${payload}}`
  )
}

function placeOf({ node, stream, offset }: PlainEvent): string {
  return `${node}/${stream}/${offset}`
}

const ids = new Map<string, string>()

function idOf({ node, stream }: { node: string; stream: number }): string {
  const name = `${node}/${stream}`
  const id =
    ids.get(name) ??
    formatStreamId({ node: nodeIdOf(Buffer.from(node, 'hex') as unknown as PublicKey), number: BigInt(stream) })
  ids.set(name, id)
  return id
}

function ownStreams({ streams }: PlainStore): PlainStream[] {
  return streams.filter(({ own }) => own)
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** The element at an index modulo the length. */
function at<T>(list: readonly T[], place: number): T | undefined {
  return list[place % list.length]
}
