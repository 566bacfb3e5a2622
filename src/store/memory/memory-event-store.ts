import { assert } from '../../assert.ts'
import { clockError } from '../../clock-error.ts'
import { ShoalError } from '../../errors.ts'
import type { KeyPair } from '../../identity/index.ts'
import { limits } from '../../limits.ts'
import {
  ByteReader,
  ByteWriter,
  type Chunk,
  encodeChunk,
  FrameBuilder,
  hashAfter,
  heads,
  MalformedBytes,
  pruneRecords,
  randomSeed,
  readChunk,
  readFrame,
  redactionRecords,
  type StreamKey,
  type TopicKind,
} from '../../protocol/index.ts'
import { isStorableTime } from '../../time.ts'
import type { EventStore, Reading, StreamStatus } from '../event-store.ts'
import type { ChunkSize } from '../log/chunk-sizes.ts'
import type { NewestTime } from '../log/newest-time.ts'
import type { Appended, AppendRequest, Received, Run } from '../log/requests.ts'
import type { Selection } from '../log/selection.ts'
import { MemoryReading } from './memory-reading.ts'
import { type Link, MemoryStream } from './memory-stream.ts'

export interface MemoryEventStoreOptions {
  readonly topic: string
  readonly kind: TopicKind
  readonly key: KeyPair
  /** Microseconds since the Unix epoch. */
  readonly now: () => number
  /** The seed of the salts of a frame, 16 bytes; random ones unless a run has to be the same every time. */
  readonly seed?: () => Uint8Array
}

const microsPerDay = 86_400e6

/** A clock that is far ahead would pull every other clock with it, for good. */
function isTooFarAhead(lamport: number, now: number): boolean {
  return lamport > Math.min(Number.MAX_SAFE_INTEGER - 1, now + microsPerDay)
}

function noCheckpoint(count: number): ShoalError {
  return new ShoalError('ERR_INVALID_INPUT', `There is no checkpoint after ${count} events of this stream.`)
}

/**
 * The events of a topic in memory, plainly written: what the store on disk has to do, without anything that makes it
 * fast. Every call does its work at once, so that a simulation from a seed always goes the same way.
 */
export class MemoryEventStore implements EventStore {
  readonly #options: MemoryEventStoreOptions
  readonly #streams: MemoryStream[] = []
  readonly #builder = new FrameBuilder()
  /** The lamport timestamp of the next own event. */
  #clock = 0
  #closed = false

  constructor(options: MemoryEventStoreOptions) {
    this.#options = options
  }

  /** The time by the wall clock; throws when it is one that cannot be stored. */
  #now(): number {
    const now = this.#options.now()
    if (!isStorableTime(now)) throw clockError(now)
    return now
  }

  /** Everything is ready always. */
  expect(): void {}

  async append(request: AppendRequest): Promise<Appended> {
    this.#check()
    const time = this.#now()
    const lamport = this.#clock
    const size = request.streams.length
    if (lamport + size > Number.MAX_SAFE_INTEGER) throw new ShoalError('ERR_IO', 'The logical clock is at its end.')
    const targets = this.#targets(request)
    const runs = runsOf(request, targets)
    // Nothing changes before all frames are made, which fails when the request makes no sense.
    const additions = [...targets.values()].map((stream) => [stream, this.#links(request, stream, time)] as const)
    for (const [stream, links] of additions) this.#addOwn(stream, links)
    this.#clock += size
    return { lamport, time, runs }
  }

  async appendParts(first: AppendRequest, rest: Iterator<AppendRequest, AppendRequest>): Promise<Appended> {
    return await this.append(joined(first, rest))
  }

  async receive(bytes: Uint8Array): Promise<Received> {
    this.#check()
    // The bytes belong to whoever sent them; frames and heads are kept as parts of a copy.
    const chunk = readChunk(Buffer.from(bytes))
    const { topic, stream: key, count: end, lamport } = chunk.head
    if (topic !== this.#options.topic) throw new MalformedBytes('a chunk of another topic')
    if (this.#isOwn(key)) throw new MalformedBytes('a chunk of a stream of this node')
    const known = this.#find(key)
    const count = known?.count ?? 0
    if (end <= count) return { state: 'known', count }
    if (isTooFarAhead(lamport, this.#options.now())) return { state: 'early', count }
    const stream = known ?? this.#newStream(key, this.#streams.length)
    if (chunk.first > count) {
      stream.wait(chunk)
      this.#keep(stream)
      return { state: 'waiting', count }
    }
    this.#addForeign(stream, chunk)
    this.#addAllWaiting(stream)
    return { state: 'stored', count: stream.count }
  }

  async prune(number: number, count: number): Promise<Uint8Array> {
    this.#check()
    const { topic, key } = this.#options
    const stream = { node: key.publicKey, number }
    const record = pruneRecords.sign({ topic, stream, count, time: this.#now() }, key)
    this.#prune(record)
    return record
  }

  async applyPrune(record: Uint8Array, head?: Uint8Array): Promise<void> {
    this.#check()
    this.#prune(record, head)
  }

  async redact(number: number, offset: number): Promise<Uint8Array> {
    this.#check()
    const { topic, key } = this.#options
    const stream = { node: key.publicKey, number }
    if (offset >= (this.#find(stream)?.count ?? 0))
      throw new ShoalError('ERR_INVALID_INPUT', `There is no event ${offset} in this stream.`)
    const record = redactionRecords.sign({ topic, stream, offset, time: this.#now() }, key)
    this.#redact(record)
    return record
  }

  async applyRedaction(record: Uint8Array): Promise<void> {
    this.#check()
    this.#redact(record)
  }

  async streams(): Promise<StreamStatus[]> {
    this.#check()
    return this.#streams.map(({ number, key, own, count, pruned }) => ({ number, key, own, count, pruned }))
  }

  read(selection: Selection): Reading {
    return new MemoryReading(this.#streams, selection, () => this.#check())
  }

  async head(number: number): Promise<Uint8Array | undefined> {
    this.#check()
    const stream = this.#streams[number]
    return stream === undefined ? undefined : this.#head(stream)
  }

  async checkpoints(number: number): Promise<{ count: number; head: Uint8Array }[]> {
    this.#check()
    return [...(this.#streams[number]?.checkpoints ?? [])].map(([count, head]) => ({ count, head }))
  }

  async chunkSizes(number: number): Promise<ChunkSize[]> {
    this.#check()
    return this.#streams[number]?.chunkSizes() ?? []
  }

  async newestTime(number: number, from: number, to: number): Promise<NewestTime> {
    this.#check()
    const time = this.#streams[number]?.newestTime(from, to)
    if (time === undefined) throw new ShoalError('ERR_INVALID_INPUT', `The event ${to} was pruned.`)
    return { first: from, time }
  }

  async chunk(number: number, from: number): Promise<Uint8Array | undefined> {
    this.#check()
    const stream = this.#streams[number]
    if (stream === undefined) return undefined
    const checkpoint = [...stream.checkpoints].find(([count]) => count > from)
    const [end, head] = checkpoint ?? [stream.count, this.#head(stream)]
    if (head === undefined || end <= from) return undefined
    const records = stream.records(from, end)
    if (records === undefined) throw new ShoalError('ERR_INVALID_INPUT', `No chunk starts at the offset ${from}.`)
    return encodeChunk(records, head)
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  #check(): void {
    if (this.#closed) throw new Error('the store is closed')
  }

  #isOwn({ node }: StreamKey): boolean {
    return Buffer.compare(node, this.#options.key.publicKey) === 0
  }

  #find({ node, number }: StreamKey): MemoryStream | undefined {
    return this.#streams.find(({ key }) => key.number === number && Buffer.compare(key.node, node) === 0)
  }

  /** A stream that is not kept yet. */
  #newStream(key: StreamKey, number: number): MemoryStream {
    if (number >= limits.streamsPerTopic)
      throw new ShoalError('ERR_IO', `A topic has at most ${limits.streamsPerTopic} streams.`)
    return new MemoryStream(this.#options.topic, this.#options.kind, key, number, this.#isOwn(key))
  }

  #keep(stream: MemoryStream): void {
    if (this.#streams[stream.number] === undefined) this.#streams.push(stream)
    assert(this.#streams[stream.number] === stream, 'streams are numbered without gaps')
  }

  /** The streams of a request by their numbers, in the order in which they come in it. */
  #targets({ streams }: AppendRequest): Map<number, MemoryStream> {
    const targets = new Map<number, MemoryStream>()
    let next = this.#streams.length
    for (const number of new Set(streams)) {
      const key = { node: this.#options.key.publicKey, number }
      targets.set(number, this.#find(key) ?? this.#newStream(key, next++))
    }
    return targets
  }

  /** The frames that the events of a request become in one of its streams. */
  #links({ source, spans, streams }: AppendRequest, stream: MemoryStream, time: number): Link[] {
    const builder = this.#builder
    const links: Link[] = []
    let [count, hash] = [stream.count, stream.hash]
    const endFrame = (): void => {
      const size = builder.count
      const record = new ByteWriter()
      hash = hashAfter(builder.finish(count, (this.#options.seed ?? randomSeed)(), record), hash)
      count += size
      links.push({ frame: readFrame(new ByteReader(record.written)), hash })
    }
    builder.clear()
    for (const [i, number] of streams.entries()) {
      if (number !== stream.key.number) continue
      builder.add(this.#clock + i, time, source, spans, 4 * i)
      if (builder.count === limits.eventsPerOwnFrame || builder.size >= limits.ownFrameBytes) endFrame()
    }
    if (builder.count > 0) endFrame()
    return links
  }

  #addOwn(stream: MemoryStream, links: readonly Link[]): void {
    this.#keep(stream)
    for (const link of links) {
      stream.add(link)
      if (stream.chunkIsFull && this.#options.kind === 'live') stream.addCheckpoint(this.#signHead(stream, true))
    }
  }

  #addForeign(stream: MemoryStream, chunk: Chunk): void {
    const links = stream.continuedBy(chunk)
    this.#keep(stream)
    for (const link of links) stream.add(link)
    if (chunk.head.checkpoint) stream.addCheckpoint(chunk.signedHead)
    stream.newestHead = chunk.signedHead
    this.#clock = Math.max(this.#clock, stream.lamport + 1)
  }

  #addAllWaiting(stream: MemoryStream): void {
    for (let next = stream.takeWaiting(); next !== undefined; next = stream.takeWaiting())
      this.#addWaiting(stream, next)
  }

  /** A chunk could not be checked before those in front of it had come; one that turns out to be bad is dropped alone. */
  #addWaiting(stream: MemoryStream, chunk: Chunk): void {
    try {
      this.#addForeign(stream, chunk)
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
    }
  }

  #prune(record: Uint8Array, signedHead?: Uint8Array): void {
    const { topic, stream: key, count } = pruneRecords.verify(record)
    this.#checkTopic(topic)
    const known = this.#find(key)
    if (count <= (known?.pruned ?? -1)) return
    if (known !== undefined && known.count >= count) {
      if (!known.checkpoints.has(count)) throw noCheckpoint(count)
      known.prune(count)
    } else this.#startAt(known ?? this.#newStream(key, this.#streams.length), count, signedHead)
  }

  /** Begins a stream at a checkpoint, without what is before it. */
  #startAt(stream: MemoryStream, count: number, signedHead: Uint8Array | undefined): void {
    if (signedHead === undefined) throw noCheckpoint(count)
    const head = heads.verify(signedHead)
    const { topic, now } = this.#options
    const isItsHead =
      head.stream.number === stream.key.number && Buffer.compare(head.stream.node, stream.key.node) === 0
    if (!head.checkpoint || head.count !== count || head.topic !== topic || !isItsHead)
      throw new ShoalError('ERR_INVALID_INPUT', 'This head is not the checkpoint that the prune record names.')
    if (isTooFarAhead(head.lamport, now()))
      throw new ShoalError('ERR_INVALID_INPUT', 'The lamport timestamps of this stream are too far in the future.')
    this.#keep(stream)
    stream.startAt(head, Uint8Array.from(signedHead))
    this.#clock = Math.max(this.#clock, head.lamport + 1)
    this.#addAllWaiting(stream)
  }

  #redact(record: Uint8Array): void {
    const { topic, stream: key, offset } = redactionRecords.verify(record)
    this.#checkTopic(topic)
    const stream = this.#find(key) ?? this.#newStream(key, this.#streams.length)
    this.#keep(stream)
    if (offset < stream.pruned) return
    stream.redact(offset)
    // The payload may be in what waits.
    for (const other of this.#streams) other.forgetWaiting()
  }

  #checkTopic(topic: string): void {
    if (topic !== this.#options.topic) throw new ShoalError('ERR_INVALID_INPUT', 'This record is for another topic.')
  }

  #head(stream: MemoryStream): Uint8Array | undefined {
    if (stream.count === 0 || this.#options.kind === 'imported') return undefined
    return stream.own ? this.#signHead(stream, stream.checkpoints.has(stream.count)) : stream.newestHead
  }

  #signHead({ key: stream, count, lamport, hash }: MemoryStream, checkpoint: boolean): Uint8Array {
    const { topic, key } = this.#options
    return heads.sign({ topic, stream, count, lamport, hash, checkpoint, time: this.#now() }, key)
  }
}

/** Where the events of a request come to stand: one run for those that follow each other in a stream. */
function runsOf({ streams }: AppendRequest, targets: ReadonlyMap<number, MemoryStream>): Run[] {
  const ends = new Map([...targets].map(([number, { count }]) => [number, count]))
  const runs: Run[] = []
  for (const stream of streams) {
    const offset = ends.get(stream) ?? 0
    if (runs.at(-1)?.stream !== stream) runs.push({ stream, offset, count: 0 })
    ;(runs.at(-1) as Run).count++
    ends.set(stream, offset + 1)
  }
  return runs
}

/** All parts of a request as one. */
function joined(first: AppendRequest, rest: Iterator<AppendRequest, AppendRequest>): AppendRequest {
  const sources: Buffer[] = []
  const spans: number[] = []
  const streams: number[] = []
  let bytes = 0
  const add = ({ source, ...part }: AppendRequest): void => {
    spans.push(...Array.from(part.spans, (place) => bytes + place))
    streams.push(...part.streams)
    sources.push(Buffer.from(source))
    bytes += source.length
  }
  add(first)
  for (;;) {
    const { value, done } = rest.next()
    add(value)
    if (done === true)
      return { source: Buffer.concat(sources), spans: Int32Array.from(spans), streams: Uint32Array.from(streams) }
  }
}
