import { assert } from '../../base/assert.ts'
import { ShoalError } from '../../base/errors.ts'
import {
  ByteReader,
  ByteWriter,
  encodeChunk,
  type Frame,
  FrameBuilder,
  genesis,
  type PruneRecord,
  randomSeed,
  readFrame,
  type StreamKey,
} from '../../protocol/index.ts'
import {
  type AppliedEvidence,
  applyAddition,
  decideChunk,
  earlyCheckpoint,
  effectOfPrune,
  effectOfRedaction,
  endOfChunk,
  evidenceOfReached,
  type ForkEvidence,
  forkedStream,
  frozenCount,
  growOwn,
  isChunkFull,
  isFrameFull,
  isOwnStream,
  isSameStream,
  LamportClock,
  newestHead,
  ownStreamKey,
  type Plan,
  type PruneStart,
  planWaiting,
  type Received,
  type ReceiveOptions,
  type ReceivingStream,
  requireRoomForStream,
  type StoredChain,
  type StreamPosition,
  signHead,
  signPrune,
  signRedaction,
  startAtCheckpoint,
  startOfStream,
  storableNow,
  type TopicContext,
  verifyEvidence,
  verifyPrune,
  verifyRedaction,
} from '../../replication/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { CommitListeners } from '../commit-listeners.ts'
import type { JobSet } from '../jobs/job.ts'
import { LocalJobs } from '../jobs/local-jobs.ts'
import { makeReadJob } from '../jobs/read-job.ts'
import {
  type Appended,
  type AppendRequest,
  addToRuns,
  type ChunkSize,
  type EventStore,
  type FrameTime,
  type NewestTime,
  type Reading,
  type Run,
  type Selection,
  type StreamStatus,
} from '../port/index.ts'
import { MemoryReader } from './memory-reader.ts'
import { MemoryStream } from './memory-stream.ts'

export interface MemoryEventStoreOptions extends TopicContext {
  /** The jobs that it runs; by default only `read`. */
  readonly jobs?: JobSet
  readonly runtime: Runtime
}

/**
 * An in-memory event store: the reference implementation, without optimisations. Every call is synchronous inside, so
 * that seeded simulations are deterministic.
 */
export class MemoryEventStore implements EventStore {
  readonly #options: MemoryEventStoreOptions
  readonly #streams: MemoryStream[] = []
  readonly #builder = new FrameBuilder()
  readonly #clock = new LamportClock()
  readonly #jobs: LocalJobs
  readonly #listeners = new CommitListeners()
  #closed = false

  constructor(options: MemoryEventStoreOptions) {
    this.#options = options
    const { jobs = { makers: { read: makeReadJob } }, runtime } = options
    this.#jobs = new LocalJobs(new MemoryReader(this.#streams), { jobs, runtime })
  }

  async append(request: AppendRequest): Promise<Appended> {
    this.#check()
    const time = storableNow(this.#options)
    const targets = this.#targets(request)
    for (const [number, { fork }] of targets) if (fork !== undefined) throw forkedStream(number)
    const lamport = this.#clock.take(request.streams.length)
    const runs = runsOf(request, targets)
    // All frames are built before any change, because that throws for an invalid request.
    const additions = [...targets.values()].map(
      (stream) => [stream, this.#framesOf(request, stream.position, lamport, time)] as const,
    )
    for (const [stream, frames] of additions) this.#addOwn(stream, frames)
    this.#committed()
    return { lamport, time, runs }
  }

  async receive(given: Uint8Array, { before }: ReceiveOptions = {}): Promise<Received> {
    this.#check()
    // Copied, because frames and heads are kept as subarrays, and the caller may reuse its memory.
    const bytes = Buffer.from(given)
    const find = (key: StreamKey): ReceivingStream | undefined => {
      const known = this.#find(key)
      return known && this.#receiving(known)
    }
    const decision = decideChunk(bytes, { before: before && Buffer.from(before) }, find, this.#options)
    if (decision.is === 'answer') return decision.answer
    const { stream: key } = decision.chunk.head
    const stream = this.#find(key) ?? this.#newStream(key)
    if (decision.is === 'store') this.#apply(stream, decision)
    else if (decision.is === 'wait') stream.keepWaiting(decision.waiting, bytes)
    else this.#freeze(stream, verifyEvidence(decision.evidence, this.#options), decision.evidence)
    if (decision.is !== 'wait') this.#committed()
    const { count } = stream.position
    if (stream.fork !== undefined) return { state: 'forked', count }
    return { state: decision.is === 'wait' ? 'waiting' : 'stored', count }
  }

  async evidence(number: number): Promise<Uint8Array | undefined> {
    this.#check()
    return this.#streams[number]?.fork?.record
  }

  async applyEvidence(record: Uint8Array): Promise<AppliedEvidence> {
    this.#check()
    const evidence = verifyEvidence(record, this.#options)
    const stream = this.#find(evidence.stream)
    if (stream === undefined) return { state: 'unknown' }
    if (stream.fork !== undefined) return { state: 'known' }
    this.#freeze(stream, evidence, record)
    return { state: 'applied' }
  }

  async prune(number: number, count: number): Promise<Uint8Array> {
    this.#check()
    const record = signPrune(number, count, this.#options)
    this.#prune(record)
    return record
  }

  async applyPrune(record: Uint8Array, head?: Uint8Array): Promise<void> {
    this.#check()
    this.#prune(record, head)
    // Waiting chunks may have been stored.
    this.#committed()
  }

  onCommit(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  async redact(number: number, offset: number): Promise<Uint8Array> {
    this.#check()
    const known = this.#find(ownStreamKey(number, this.#options))
    const record = signRedaction(number, offset, known?.position, this.#options)
    this.#redact(record)
    return record
  }

  async applyRedaction(record: Uint8Array): Promise<void> {
    this.#check()
    this.#redact(record)
  }

  async streams(): Promise<StreamStatus[]> {
    this.#check()
    return this.#streams.map(({ number, key, own, position: { count, pruned } }) => ({
      number,
      key,
      own,
      count,
      pruned,
    }))
  }

  read(selection: Selection): Reading {
    return this.start('read', selection)
  }

  start(job: string, request: unknown): Reading {
    return this.#jobs.start(job, request)
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

  async framesOfChunk(number: number, from: number): Promise<FrameTime[]> {
    this.#check()
    return this.#streams[number]?.framesOfChunk(from) ?? []
  }

  async chunk(number: number, from: number): Promise<Uint8Array | undefined> {
    this.#check()
    const stream = this.#streams[number]
    if (stream === undefined) return undefined
    const [, checkpoint] = [...stream.checkpoints].find(([count]) => count > from) ?? []
    const end = endOfChunk(from, checkpoint, this.#head(stream))
    if (end === undefined) return undefined
    // Of a forked stream only what both branches have in common is served.
    if (end.count > (stream.fork?.frozen ?? end.count)) return undefined
    const records = stream.records(from, end.count)
    if (records === undefined) throw new ShoalError('ERR_INVALID_INPUT', `No chunk starts at the offset ${from}.`)
    return encodeChunk(records, end.signedHead)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#jobs.close(storeClosed())
  }

  #check(): void {
    if (this.#closed) throw storeClosed()
  }

  #committed(): void {
    this.#jobs.wake()
    this.#listeners.notify()
  }

  #find(key: StreamKey): MemoryStream | undefined {
    return this.#streams.find((stream) => isSameStream(stream.key, key))
  }

  /** Creates a stream without adding it to the store. */
  #newStream(key: StreamKey, number = this.#streams.length): MemoryStream {
    requireRoomForStream(number)
    const { topic, kind } = this.#options
    return new MemoryStream(number, startOfStream(topic, kind, key, isOwnStream(key, this.#options)))
  }

  #keep(stream: MemoryStream): void {
    if (this.#streams[stream.number] === undefined) this.#streams.push(stream)
    assert(this.#streams[stream.number] === stream, 'streams are numbered without gaps')
  }

  /** The streams of a request by number, in order of first occurrence. */
  #targets({ streams }: AppendRequest): Map<number, MemoryStream> {
    const targets = new Map<number, MemoryStream>()
    let next = this.#streams.length
    for (const number of new Set(streams)) {
      const key = ownStreamKey(number, this.#options)
      targets.set(number, this.#find(key) ?? this.#newStream(key, next++))
    }
    return targets
  }

  /** Builds the frames of a request for one of its streams. */
  #framesOf(
    { source, spans, streams }: AppendRequest,
    { key, count }: StreamPosition,
    lamport: number,
    time: number,
  ): Frame[] {
    const builder = this.#builder
    const frames: Frame[] = []
    let first = count
    const endFrame = (): void => {
      const record = new ByteWriter()
      builder.finish(first, randomSeed(this.#options.runtime.random), record)
      const frame = readFrame(new ByteReader(record.written))
      frames.push(frame)
      first += frame.count
    }
    builder.clear()
    for (const [i, number] of streams.entries()) {
      if (number !== key.number) continue
      builder.add(lamport + i, time, source, spans, 4 * i)
      if (isFrameFull(builder)) endFrame()
    }
    if (builder.count > 0) endFrame()
    return frames
  }

  #addOwn(stream: MemoryStream, frames: readonly Frame[]): void {
    const { position } = stream
    this.#keep(stream)
    for (const frame of frames) {
      const [start, end] = frame.record
      const lamport = frame.lamports[frame.count - 1] as number
      growOwn(position, { count: frame.count, lamport, chain: position.chain.after(frame), bytes: end - start })
      stream.keep([frame])
      if (isChunkFull(position) && this.#options.kind === 'live')
        stream.addCheckpoint(signHead(position, true, this.#options))
    }
  }

  /** Stores planned additions, and drops the waiting chunks that are reached. */
  #apply(stream: MemoryStream, { additions, reached }: Plan): void {
    this.#keep(stream)
    for (const addition of additions) {
      const { frames, head, signedHead } = addition
      applyAddition(addition, stream.position, this.#clock)
      stream.keep(frames)
      if (head.checkpoint) stream.addCheckpoint(signedHead)
      stream.receivedHead = signedHead
    }
    stream.dropReached()
    const evidence = evidenceOfReached(reached, this.#storedChain(stream))
    if (evidence !== undefined) this.#freeze(stream, verifyEvidence(evidence, this.#options), evidence)
  }

  #freeze(stream: MemoryStream, evidence: ForkEvidence, record: Uint8Array): void {
    // Copied, because the caller may reuse its memory.
    stream.fork = { record: Uint8Array.from(record), frozen: frozenCount(evidence, this.#storedChain(stream)) }
    stream.dropWaiting()
  }

  #receiving(stream: MemoryStream): ReceivingStream {
    return stream.receiving(this.#streams, this.#storedChain(stream))
  }

  #storedChain(stream: MemoryStream): StoredChain {
    const { topic, kind } = this.#options
    return stream.storedChain(genesis(topic, stream.key, kind), () => this.#head(stream))
  }

  #prune(signed: Uint8Array, signedHead?: Uint8Array): void {
    const record = verifyPrune(signed, this.#options)
    const known = this.#find(record.stream)
    const effect = effectOfPrune(record, signedHead, known?.position, this.#options)
    if (effect.is === 'none') return
    const stream = known ?? this.#newStream(record.stream)
    // Nothing is added to a forked stream.
    if (effect.is === 'start' && stream.fork !== undefined) return
    if (effect.is === 'start') this.#startAt(stream, effect)
    else if (!stream.checkpoints.has(record.count)) this.#endChunkEarly(stream, record, signedHead)
    stream.prune(record.count)
    if (effect.is === 'start') this.#apply(stream, planWaiting(this.#receiving(stream)))
  }

  #endChunkEarly(stream: MemoryStream, record: PruneRecord, signedHead: Uint8Array | undefined): void {
    const { topic, kind } = this.#options
    const at = stream.chainAt(record.count, genesis(topic, stream.key, kind))
    // Copied, because the caller may reuse its memory.
    const head = Uint8Array.from(earlyCheckpoint(record, signedHead, at, this.#options))
    stream.addEarlyCheckpoint(record.count, head)
  }

  /** Moves a stream to a checkpoint, without the events before it. */
  #startAt(stream: MemoryStream, { head, signedHead }: PruneStart): void {
    // Copied, because the caller may reuse its memory.
    const kept = Uint8Array.from(signedHead)
    this.#keep(stream)
    startAtCheckpoint(stream.position, head)
    stream.addCheckpoint(kept)
    stream.receivedHead = kept
    this.#clock.follow(head.lamport)
  }

  #redact(signed: Uint8Array): void {
    const record = verifyRedaction(signed, this.#options)
    const stream = this.#find(record.stream) ?? this.#newStream(record.stream)
    this.#keep(stream)
    if (effectOfRedaction(record, stream.position) === 'none') return
    stream.redact(record.offset)
    for (const other of this.#streams) other.dropWaiting()
  }

  #head(stream: MemoryStream): Uint8Array | undefined {
    return newestHead(stream.position, this.#options, () => stream.receivedHead)
  }
}

/** The offsets of the events of a request: one run for consecutive events of a stream. */
function runsOf({ streams }: AppendRequest, targets: ReadonlyMap<number, MemoryStream>): Run[] {
  const ends = new Map([...targets].map(([number, { position }]) => [number, position.count]))
  const runs: Run[] = []
  for (const stream of streams) {
    const offset = ends.get(stream) ?? 0
    addToRuns(runs, stream, offset)
    ends.set(stream, offset + 1)
  }
  return runs
}

function storeClosed(): Error {
  return new Error('the store is closed')
}
