import { formatStreamId, nodeIdOf } from '../../identity/index.ts'
import { ByteReader, decodeLabels, type Frame, type Hash, type Labels, type StreamKey } from '../../protocol/index.ts'
import {
  type ChainPlace,
  chainAt,
  endChunk,
  type ReceivingStream,
  type RedactableStream,
  type StoredChain,
  type StoredStream,
  type StreamPosition,
  startChunkAt,
  type WaitingChunk,
  type WaitingRoom,
  waitingBytes,
  withoutPayloads,
} from '../../replication/index.ts'
import {
  type ChunkSize,
  type FrameTime,
  frameTime,
  joinChunks,
  newestTimeIn,
  type ReadStream,
  type RedactedOffset,
} from '../port/index.ts'
import { MemoryRedactions } from './memory-redactions.ts'

/** An event that can be read: it was neither pruned nor redacted. */
export interface MemoryEvent {
  readonly offset: number
  readonly lamport: number
  readonly time: number
  readonly labels: Labels
  readonly payload: Buffer
}

/** A stream in memory: its position, its frames, and their readable events. */
export class MemoryStream implements ReadStream, RedactableStream {
  readonly number: number
  readonly key: StreamKey
  readonly own: boolean
  readonly position: StreamPosition
  /** The stream ID in the lines of its events. */
  readonly id: string
  readonly events = new Map<number, MemoryEvent>()
  readonly checkpoints = new Map<number, Uint8Array>()
  /** The hash at the start of its chain, once it was computed. */
  genesis: Hash | undefined
  /** The newest received head of a stream of another node. */
  receivedHead: Uint8Array | undefined
  /** The prune record, if a part of the stream is pruned. */
  pruneRecord: Uint8Array | undefined
  /** The evidence of a fork, and the count up to which the stream is still served. */
  fork: { readonly record: Uint8Array; readonly frozen: number } | undefined
  /** The peer that has introduced it. */
  from: string | undefined
  /** Whether it was forgotten. Its number is never reused: readers may have positions in it. */
  isVacant = false
  #frames: Frame[] = []
  readonly #waiting = new Map<number, { readonly waiting: WaitingChunk; readonly bytes: number }>()
  /** The redaction records by offset. */
  readonly #redacted = new MemoryRedactions()

  constructor(number: number, start: StreamPosition) {
    const { key, own } = start
    this.number = number
    this.key = key
    this.own = own
    this.position = start
    this.id = formatStreamId({ node: nodeIdOf(key.node), number: BigInt(key.number) })
  }

  /** A stream with the same state. Frames and records are shared: they never change. */
  copy(): MemoryStream {
    const copy = new MemoryStream(this.number, { ...this.position })
    for (const [offset, event] of this.events) copy.events.set(offset, event)
    for (const [count, head] of this.checkpoints) copy.checkpoints.set(count, head)
    for (const [first, waiting] of this.#waiting) copy.#waiting.set(first, waiting)
    copy.#redacted.copyFrom(this.#redacted)
    copy.receivedHead = this.receivedHead
    copy.pruneRecord = this.pruneRecord
    copy.fork = this.fork
    copy.from = this.from
    copy.isVacant = this.isVacant
    copy.#frames = [...this.#frames]
    return copy
  }

  /** The interface for the admission of chunks. */
  receiving(all: readonly MemoryStream[], chain: StoredChain): ReceivingStream {
    return {
      ...chain,
      isFrozen: this.fork !== undefined,
      redactedBetween: (from, to) => this.redactedBetween(from, to),
      waitingUpTo: (offset) => this.#waitingChunks.filter(({ chunk }) => chunk.first <= offset),
      waitingRoom: () => ({
        stream: this.#waitingUsage,
        all: all.reduce((sum, stream) => added(sum, stream.#waitingUsage), { chunks: 0, bytes: 0 }),
        at: (first) => this.#waiting.get(first)?.waiting,
      }),
    }
  }

  /** @param newest the newest signed head */
  storedChain(genesis: Hash, newest: () => Uint8Array | undefined): StoredChain {
    const checkpoints = [...this.checkpoints]
    return {
      position: this.position,
      genesis,
      checkpointUpTo: (count) => checkpoints.findLast(([end]) => end <= count)?.[1],
      headFrom: (count) => checkpoints.find(([end]) => end >= count)?.[1] ?? newest(),
      frames: (from, to) => this.#frames.filter(({ first }) => first >= from && first < to),
    }
  }

  keep(frames: readonly Frame[]): void {
    for (const frame of frames) {
      this.#frames.push(frame)
      this.#index(frame)
    }
  }

  addCheckpoint(head: Uint8Array): void {
    this.checkpoints.set(this.position.count, head)
    endChunk(this.position)
  }

  /** Adds a checkpoint after any frame, where the stream is pruned. */
  addEarlyCheckpoint(count: number, head: Uint8Array): void {
    const later = [...this.checkpoints].filter(([end]) => end > count)
    for (const [end] of later) this.checkpoints.delete(end)
    for (const [end, kept] of [[count, head] as const, ...later]) this.checkpoints.set(end, kept)
    const after = this.#frames.filter(({ first }) => first >= count)
    const bytes = after.reduce((sum, { record: [start, end] }) => sum + end - start, 0)
    startChunkAt(this.position, count, bytes)
  }

  /** The stream, for the rules of replication. */
  stored(genesis: Hash): StoredStream {
    const { count, pruned } = this.position
    return {
      count,
      pruned,
      frozen: this.fork?.frozen,
      genesis,
      checkpointAfter: (offset) => [...this.checkpoints].find(([end]) => end > offset)?.[1],
      checkpointUpTo: (most) => [...this.checkpoints].findLast(([end]) => end <= most)?.[1],
      frames: (from, to) => this.#frames.filter(({ first, count }) => first + count > from && first < to),
    }
  }

  /** The place after `count` events, from the checkpoint before; undefined when no frame ends there. */
  placeAt(count: number, genesis: Hash): ChainPlace | undefined {
    return chainAt(this.stored(genesis), count)
  }

  /** Buffers an out-of-order chunk. */
  keepWaiting(waiting: WaitingChunk, bytes: Uint8Array): void {
    this.#waiting.set(waiting.chunk.first, { waiting, bytes: waitingBytes(bytes.length, waiting.signedBefore) })
  }

  get #waitingChunks(): WaitingChunk[] {
    return [...this.#waiting.values()].map(({ waiting }) => waiting)
  }

  get #waitingUsage(): WaitingRoom['all'] {
    return { chunks: this.#waiting.size, bytes: [...this.#waiting.values()].reduce((sum, { bytes }) => sum + bytes, 0) }
  }

  /** Drops the waiting chunks that start at or before an offset. */
  dropWaiting(upTo = Number.POSITIVE_INFINITY): void {
    for (const first of this.#waiting.keys()) if (first <= upTo) this.#waiting.delete(first)
  }

  /** Drops the waiting chunks that the stream has reached. */
  dropReached(): void {
    this.dropWaiting(this.position.count)
  }

  redactedBetween(from: number, to: number): number[] {
    return this.#redacted.between(from, to)
  }

  /** The redacted offsets in a range, with their records. */
  redactionsBetween(from: number, to: number): RedactedOffset[] {
    return this.redactedBetween(from, to).map((offset) => {
      const record = this.#redacted.get(offset) as Uint8Array
      return { offset, id: record, record: () => record }
    })
  }

  /** Number of records and of offsets of events that were not received yet. */
  expected(): { readonly records: number; readonly offsets: number } {
    return this.#redacted.expectedFrom(this.position.count)
  }

  /** Forgets the redactions of events that were not received. */
  dropExpectedRedactions(): void {
    this.#redacted.dropFrom(this.position.count)
  }

  /** The newest timestamp in a range of offsets; undefined when its last event is not stored. */
  newestTime(from: number, to: number): number | undefined {
    const { pruned, count } = this.position
    return to < pruned || to >= count ? undefined : newestTimeIn(this.#frames, from, to)
  }

  chunkSizes(): ChunkSize[] {
    return joinChunks(
      this.#frames.map(({ first, count, record: [start, end] }) => ({
        first,
        end: first + count,
        bytes: end - start,
        complete: this.checkpoints.has(first + count),
      })),
    )
  }

  /** The frames of the chunk that starts at an offset. */
  framesOfChunk(from: number): FrameTime[] {
    const end = [...this.checkpoints.keys()].find((count) => count > from) ?? this.position.count
    return this.#frames.filter(({ first }) => first >= from && first < end).map(frameTime)
  }

  /** Removes everything before an offset, and keeps the record that says so. */
  prune(count: number, record: Uint8Array): void {
    this.pruneRecord = record
    this.#removeBefore(count)
  }

  #removeBefore(count: number): void {
    this.position.pruned = count
    this.#frames = this.#frames.filter(({ first }) => first >= count)
    for (const kept of [this.events, this.checkpoints, this.#waiting])
      for (const place of kept.keys()) if (place < count) kept.delete(place)
    this.#redacted.dropBefore(count)
  }

  /** Removes everything. To readers all of its events are pruned. */
  forget(): void {
    this.#removeBefore(this.position.count)
    this.checkpoints.clear()
    this.#waiting.clear()
    this.#redacted.clear()
    this.pruneRecord = undefined
    this.receivedHead = undefined
    this.fork = undefined
    this.isVacant = true
  }

  /** Redacts events, some of which may not have been received yet. */
  redact(offsets: readonly number[], record: Uint8Array): void {
    this.#redacted.add(offsets, record)
    for (const offset of offsets) this.events.delete(offset)
    const frames = withoutPayloads(this.#frames, offsets)
    // The other events of the frame are subarrays of the bytes with the payload.
    for (const [i, frame] of frames.entries()) if (frame !== this.#frames[i]) this.#index(frame)
    this.#frames = [...frames]
  }

  /** Makes the events of a frame readable. */
  #index(frame: Frame): void {
    for (let i = 0; i < frame.count; i++)
      if ((frame.payloads[2 * i] as number) >= 0) this.events.set(frame.first + i, eventOf(frame, i))
  }
}

function added(a: WaitingRoom['all'], b: WaitingRoom['all']): WaitingRoom['all'] {
  return { chunks: a.chunks + b.chunks, bytes: a.bytes + b.bytes }
}

function eventOf({ bytes, first, lamports, times, labels, payloads }: Frame, i: number): MemoryEvent {
  return {
    offset: first + i,
    lamport: lamports[i] as number,
    time: times[i] as number,
    labels: decodeLabels(new ByteReader(bytes, labels[2 * i], labels[2 * i + 1])),
    payload: bytes.subarray(payloads[2 * i], payloads[2 * i + 1]),
  }
}
