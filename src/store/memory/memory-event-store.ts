import { assert } from '../../base/assert.ts'
import { ShoalError } from '../../base/errors.ts'
import { format } from '../../base/format.ts'
import {
  ByteReader,
  ByteWriter,
  type Frame,
  FrameBuilder,
  genesis,
  type Hash,
  heads,
  randomSeed,
  readFrame,
  type StreamKey,
} from '../../protocol/index.ts'
import {
  type AppendedFrames,
  type AppliedEvidence,
  applyAddition,
  chunkFrom,
  chunksFrom,
  decideChunk,
  decidePrune,
  effectOfPrune,
  effectOfRedaction,
  evidenceOfReached,
  type ForkEvidence,
  FrameCollector,
  forkedStream,
  frozenCount,
  growOwn,
  type HeadPlace,
  hashAt,
  headRow,
  isChunkFull,
  isFrameFull,
  isOwnStream,
  isSameStream,
  KeptHeads,
  LamportClock,
  noRoomForStream,
  ownStreamKey,
  type Plan,
  type PrunableStream,
  type PruneRemoval,
  type PruneResult,
  type PruneStart,
  placeOf,
  planWaiting,
  type Received,
  type ReceiveOptions,
  type ReceivingStream,
  type ReceivingStreams,
  type RecordOrigin,
  type RedactionResult,
  requireForgettable,
  requireSameTopic,
  type SignedRedaction,
  type StoredChain,
  type StoredStream,
  StreamBudget,
  type StreamHead,
  type StreamLimit,
  type StreamPosition,
  signHead,
  signRedaction,
  startAtCheckpoint,
  startOfStream,
  storableNow,
  type TopicContext,
  verifyEvidence,
  verifyPrune,
  verifyRedactions,
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
  recordsOf,
  type Selection,
  type StreamRecords,
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
  readonly #budget = new StreamBudget()
  readonly #jobs: LocalJobs
  readonly #listeners = new CommitListeners()
  readonly #heads = new KeptHeads()
  readonly #appended = new CommitListeners<[readonly AppendedFrames[]]>()
  #frames: FrameCollector | undefined
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
    this.#frames?.commit()
    this.#committed()
    this.#announce()
    return { lamport, time, runs }
  }

  async receive(given: Uint8Array, { before, from }: ReceiveOptions = {}): Promise<Received> {
    this.#check()
    // Copied, because frames and heads are kept as subarrays, and the caller may reuse its memory.
    const bytes = Buffer.from(given)
    const streams: ReceivingStreams = {
      find: (key) => {
        const known = this.#find(key)
        return known && this.#receiving(known)
      },
      limitOf: (key, peer) => this.#limitOf(key, peer),
    }
    const decision = decideChunk(bytes, { before: before && Buffer.from(before), from }, streams, this.#options)
    if (decision.is === 'answer') return decision.answer
    const { stream: key } = decision.chunk.head
    const stream = this.#find(key) ?? this.#newStream(key, from)
    this.#keep(stream, from)
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
    const key = ownStreamKey(number, this.#options)
    const stream = this.#find(key)
    const removal = decidePrune(key, count, stream && this.#prunable(stream), this.#options)
    assert(stream !== undefined, 'a stream that is pruned exists')
    if (removal !== undefined) this.#remove(stream, count, removal, removal.signed)
    assert(stream.pruneRecord !== undefined, 'a pruned stream has its prune record')
    return stream.pruneRecord
  }

  async applyPrune(record: Uint8Array, head?: Uint8Array, options?: ReceiveOptions): Promise<PruneResult> {
    this.#check()
    const result = this.#prune(record, head, options)
    // Waiting chunks may have been stored.
    if (result.state === 'applied') this.#committed()
    return result
  }

  onCommit(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  onAppended(listener: (appended: readonly AppendedFrames[]) => void): () => void {
    const remove = this.#appended.add(listener)
    // Imported streams are never announced.
    if (this.#options.kind === 'live') this.#frames ??= new FrameCollector(() => 0)
    return () => {
      remove()
      if (this.#appended.size === 0) this.#frames = undefined
    }
  }

  async redact(number: number, offsets: readonly number[]): Promise<Uint8Array> {
    this.#check()
    const known = this.#find(ownStreamKey(number, this.#options))
    const signed = signRedaction(number, offsets, known?.position, this.#options)
    for (const record of verifyRedactions([signed], this.#options)) this.#redact(record, 'local')
    return signed
  }

  async applyRedaction(record: Uint8Array, options?: ReceiveOptions): Promise<RedactionResult> {
    const [result] = await this.applyRedactions([record], options)
    assert(result !== undefined, 'every record has a result')
    return result
  }

  async applyRedactions(records: readonly Uint8Array[], options?: ReceiveOptions): Promise<RedactionResult[]> {
    this.#check()
    return verifyRedactions(records, this.#options).map((record) => this.#redact(record, 'received', options))
  }

  async forgetStream(key: StreamKey): Promise<boolean> {
    this.#check()
    requireForgettable(key, this.#options)
    const stream = this.#find(key)
    if (stream === undefined) return false
    this.#budget.remove(key, stream.from)
    stream.forget()
    return true
  }

  async streams(): Promise<StreamStatus[]> {
    this.#check()
    return this.#streams.filter((stream) => !stream.isVacant).map(statusOf)
  }

  read(selection: Selection): Reading {
    return this.start('read', selection)
  }

  start(job: string, request: unknown): Reading {
    return this.#jobs.start(job, request)
  }

  async head(number: number): Promise<Uint8Array | undefined> {
    this.#check()
    const stream = this.#streamAt(number)
    return stream === undefined ? undefined : this.#head(stream)
  }

  async records(number: number, from = 0, to: number = format.eventsPerStream): Promise<StreamRecords> {
    this.#check()
    const stream = this.#streamAt(number)
    if (stream === undefined) return { redactions: [] }
    const [record, head] = [stream.pruneRecord, stream.checkpoints.get(stream.position.pruned)]
    const prune = record !== undefined && head !== undefined ? { record, head } : undefined
    return { ...(prune && { prune }), ...recordsOf(stream.redactionsBetween(from, to)) }
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

  async chunk(number: number, from: number, maxBytes?: number): Promise<Uint8Array | undefined> {
    this.#check()
    const stream = this.#streamAt(number)
    return stream && chunkFrom(this.#stored(stream), this.#head(stream), from, maxBytes)
  }

  async chunks(number: number, from: number, maxBytes: number): Promise<Uint8Array[]> {
    this.#check()
    const stream = this.#streamAt(number)
    return stream === undefined ? [] : chunksFrom(this.#stored(stream), this.#head(stream), from, maxBytes)
  }

  async hashAt(number: number, count: number): Promise<Hash | 'pruned' | undefined> {
    this.#check()
    const stream = this.#streamAt(number)
    return stream && hashAt(this.#stored(stream), count)
  }

  async heads(): Promise<StreamHead[]> {
    this.#check()
    return this.#streams.flatMap((stream) => {
      const head = this.#head(stream)
      const { number, own, position } = stream
      return head === undefined ? [] : [headRow({ number, own, pruned: position.pruned }, head)]
    })
  }

  async streamOf(key: StreamKey): Promise<StreamStatus | undefined> {
    this.#check()
    const stream = this.#find(key)
    return stream && statusOf(stream)
  }

  async contains(signed: Uint8Array): Promise<HeadPlace> {
    this.#check()
    const head = heads.verify(signed)
    requireSameTopic(head.topic, this.#options)
    const stream = this.#find(head.stream)
    return placeOf(head, stream && this.#stored(stream))
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

  /** Passes the frames of a commit on to the listeners. */
  #announce(): void {
    const appended = this.#frames?.take((key) => {
      const stream = this.#find(key)
      return stream && this.#head(stream)
    })
    if (appended !== undefined && appended.length > 0) this.#appended.notify(appended)
  }

  #find(key: StreamKey): MemoryStream | undefined {
    return this.#streams.find((stream) => !stream.isVacant && isSameStream(stream.key, key))
  }

  #streamAt(number: number): MemoryStream | undefined {
    const stream = this.#streams[number]
    return stream?.isVacant === true ? undefined : stream
  }

  /** Creates a stream without adding it to the store. */
  #newStream(key: StreamKey, from?: string, number = this.#streams.length): MemoryStream {
    const limit = this.#limitOf(key, from, number)
    if (limit !== undefined) throw noRoomForStream(limit)
    const { topic, kind } = this.#options
    return new MemoryStream(number, startOfStream(topic, kind, key, isOwnStream(key, this.#options)))
  }

  #limitOf(key: StreamKey, from: string | undefined, slots = this.#streams.length): StreamLimit | undefined {
    return this.#budget.limitOf({ ...key, own: isOwnStream(key, this.#options) }, slots, from)
  }

  #keep(stream: MemoryStream, from?: string): void {
    if (this.#streams[stream.number] === undefined) {
      this.#streams.push(stream)
      this.#budget.add({ ...stream.key, own: stream.own }, from)
      stream.from = from
    }
    assert(this.#streams[stream.number] === stream, 'streams are numbered without gaps')
  }

  /** The streams of a request by number, in order of first occurrence. */
  #targets({ streams }: AppendRequest): Map<number, MemoryStream> {
    const targets = new Map<number, MemoryStream>()
    let next = this.#streams.length
    for (const number of new Set(streams)) {
      const key = ownStreamKey(number, this.#options)
      targets.set(number, this.#find(key) ?? this.#newStream(key, undefined, next++))
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
      const before = position.chain.hash
      growOwn(position, { count: frame.count, lamport, chain: position.chain.after(frame), bytes: end - start })
      stream.keep([frame])
      const record = frame.bytes.subarray(start, end)
      this.#frames?.add(stream.key, { first: frame.first, before, count: position.count }, record)
      if (!isChunkFull(position) || this.#options.kind !== 'live') continue
      const head = signHead(position, true, this.#options)
      stream.addCheckpoint(head)
      this.#frames?.endChunk(stream.key, head)
    }
  }

  /** Stores planned additions, and drops the waiting chunks that are reached. */
  #apply(stream: MemoryStream, { additions, reached }: Plan): void {
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

  #prune(signed: Uint8Array, signedHead: Uint8Array | undefined, { from }: ReceiveOptions = {}): PruneResult {
    const record = verifyPrune(signed, this.#options)
    const known = this.#find(record.stream)
    const effect = effectOfPrune(record, signedHead, known && this.#prunable(known), this.#options)
    if (effect.is === 'none') return { state: 'known' }
    if (effect.is === 'hold') return { state: 'held' }
    if (effect.is === 'fork') return { state: 'fork' }
    const stream = known ?? this.#newStream(record.stream, from)
    // Nothing is added to a forked stream.
    if (effect.is === 'start' && stream.fork !== undefined) return { state: 'fork' }
    if (effect.is === 'remove') this.#remove(stream, record.count, effect, signed)
    else this.#startAt(stream, effect, signed, from)
    return { state: 'applied' }
  }

  /** A stream for the rules of pruning. */
  #prunable(stream: MemoryStream): PrunableStream {
    const { topic, kind } = this.#options
    return {
      position: stream.position,
      hasCheckpoint: (count) => stream.checkpoints.has(count),
      placeAt: (count) => stream.placeAt(count, genesis(topic, stream.key, kind)),
    }
  }

  #remove(stream: MemoryStream, count: number, { checkpoint }: PruneRemoval, signed: Uint8Array): void {
    // Copied, because the caller may reuse its memory.
    if (checkpoint !== undefined) stream.addEarlyCheckpoint(count, Uint8Array.from(checkpoint.signedHead))
    stream.prune(count, Uint8Array.from(signed))
  }

  /** Moves a stream to a checkpoint, without the events before it. */
  #startAt(stream: MemoryStream, { head, signedHead }: PruneStart, signed: Uint8Array, from: string | undefined): void {
    // Copied, because the caller may reuse its memory.
    const kept = Uint8Array.from(signedHead)
    this.#keep(stream, from)
    startAtCheckpoint(stream.position, head)
    stream.addCheckpoint(kept)
    stream.receivedHead = kept
    this.#clock.follow(head.lamport)
    stream.prune(head.count, Uint8Array.from(signed))
    this.#apply(stream, planWaiting(this.#receiving(stream)))
  }

  #redact({ signed, record }: SignedRedaction, origin: RecordOrigin, { from }: ReceiveOptions = {}): RedactionResult {
    const known = this.#find(record.stream)
    const effect = effectOfRedaction(record, known, this.#options, origin)
    if (effect.is === 'none') return { state: 'known' }
    if (effect.is === 'hold') return { state: 'held' }
    if (effect.is === 'full') return { state: 'full' }
    const { remove, expect } = effect
    const stream = known ?? this.#newStream(record.stream, from)
    this.#keep(stream, from)
    // Copied, because the caller may reuse its memory.
    stream.redact([...remove, ...expect], Uint8Array.from(signed))
    stream.dropWaiting(expect.at(-1) ?? -1)
    return { state: remove.length > 0 ? 'applied' : 'waiting' }
  }

  #stored(stream: MemoryStream): StoredStream {
    const { topic, kind } = this.#options
    return stream.stored(genesis(topic, stream.key, kind))
  }

  #head(stream: MemoryStream): Uint8Array | undefined {
    return this.#heads.newest(stream.position, this.#options, () => stream.receivedHead)
  }
}

function statusOf({ number, key, own, position: { count, pruned } }: MemoryStream): StreamStatus {
  return { number, key, own, count, pruned }
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
