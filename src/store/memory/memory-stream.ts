import { formatStreamId, nodeIdOf } from '../../identity/index.ts'
import { limits } from '../../limits.ts'
import {
  ByteReader,
  type Chunk,
  decodeLabels,
  type Frame,
  genesis,
  type Hash,
  type Head,
  hashAfter,
  type Labels,
  MalformedBytes,
  readFrame,
  type StreamKey,
  type TopicKind,
  withoutPayload,
} from '../../protocol/index.ts'
import type { ChunkSize } from '../log/chunk-sizes.ts'

/** An event that can be read: it was neither pruned nor redacted. */
export interface MemoryEvent {
  readonly offset: number
  readonly lamport: number
  readonly time: number
  readonly labels: Labels
  readonly payload: Buffer
}

/** A frame with the hash of the chain after it. */
export interface Link {
  readonly frame: Frame
  readonly hash: Hash
}

/** A stream as it stands in memory: its frames, and the events in them that can be read. */
export class MemoryStream {
  readonly number: number
  readonly key: StreamKey
  readonly own: boolean
  /** As it stands in the lines of its events. */
  readonly id: string
  count = 0
  /** The lamport timestamp of the last event; -1 while there is none. */
  lamport = -1
  hash: Hash
  pruned = 0
  readonly events = new Map<number, MemoryEvent>()
  readonly checkpoints = new Map<number, Uint8Array>()
  /** Of a stream of another node: the newest head that came. */
  newestHead: Uint8Array | undefined
  #frames: Frame[] = []
  readonly #waiting = new Map<number, Chunk>()
  readonly #redacted = new Set<number>()
  #eventsSince = 0
  #bytesSince = 0

  constructor(topic: string, kind: TopicKind, key: StreamKey, number: number, own: boolean) {
    this.number = number
    this.key = key
    this.own = own
    this.id = formatStreamId({ node: nodeIdOf(key.node), number: BigInt(key.number) })
    this.hash = genesis(topic, key, kind)
  }

  /** Whether the chunk that is being written ends here. */
  get chunkIsFull(): boolean {
    return this.#eventsSince >= limits.eventsPerCheckpoint || this.#bytesSince >= limits.bytesPerCheckpoint
  }

  add({ frame, hash }: Link): void {
    const kept = this.#withoutRedacted(frame)
    this.#frames.push(kept)
    this.#index(kept)
    this.count += frame.count
    this.lamport = frame.lamports[frame.count - 1] as number
    this.hash = hash
    this.#eventsSince += frame.count
    this.#bytesSince += kept.record[1] - kept.record[0]
  }

  addCheckpoint(head: Uint8Array): void {
    this.checkpoints.set(this.count, head)
    this.#eventsSince = 0
    this.#bytesSince = 0
  }

  /** What a chunk of the stream's node adds to it; throws unless it goes on where the stream ends. */
  continuedBy({ head, frames }: Chunk): Link[] {
    const added = frames.filter(({ first, count }) => first + count > this.count)
    if (added[0]?.first !== this.count) throw new MalformedBytes('a chunk is framed in another way than what is here')
    if ((added[0].lamports[0] as number) <= this.lamport) throw new MalformedBytes('the lamport timestamps do not rise')
    if (this.#eventsSince + head.count - this.count > limits.eventsPerChunk)
      throw new MalformedBytes('a stream has too few checkpoints')
    const links: Link[] = []
    let hash = this.hash
    for (const frame of added) {
      hash = hashAfter(frame, hash)
      links.push({ frame, hash })
    }
    if (hash !== head.hash) throw new MalformedBytes('the frames do not lead to the signed head')
    return links
  }

  /**
   * Keeps a chunk that came before those in front of it, unless there are too many, or it has a payload that is to be
   * removed: then it has to come again.
   */
  wait(chunk: Chunk): void {
    const redacted = chunk.frames.some((frame) => this.#withoutRedacted(frame) !== frame)
    if (!redacted && this.#waiting.size < limits.waitingChunks && !this.#waiting.has(chunk.first))
      this.#waiting.set(chunk.first, chunk)
  }

  /** Drops what waits; it comes again. */
  forgetWaiting(): void {
    this.#waiting.clear()
  }

  /** Takes out the chunk that goes on where the stream ends, of those that wait; those that are of no use go too. */
  takeWaiting(): Chunk | undefined {
    const reached = [...this.#waiting.values()].filter(({ first }) => first <= this.count)
    for (const { first } of reached) this.#waiting.delete(first)
    return reached.sort((a, b) => b.first - a.first).find(({ head }) => head.count > this.count)
  }

  /** The records of the frames from one offset to another; nothing when they are not there as whole frames. */
  records(from: number, to: number): Uint8Array[] | undefined {
    const frames = this.#frames.filter(({ first }) => first >= from && first < to)
    if (frames[0]?.first !== from) return undefined
    return frames.map(({ bytes, record }) => bytes.subarray(...record))
  }

  /** The newest time of the events from one offset up to another; nothing when the last of them is not there. */
  newestTime(from: number, to: number): number | undefined {
    let newest: number | undefined
    for (const { first, count, times } of this.#frames)
      for (let i = Math.max(0, from - first); i < count && first + i <= to; i++)
        newest = Math.max(newest ?? 0, times[i] as number)
    return to < this.pruned || to >= this.count ? undefined : newest
  }

  chunkSizes(): ChunkSize[] {
    const ends = [...this.checkpoints.keys()].filter((count) => count > this.pruned)
    if (this.count > (ends.at(-1) ?? this.pruned)) ends.push(this.count)
    return ends.map((end, i) => {
      const first = ends[i - 1] ?? this.pruned
      const bytes = (this.records(first, end) ?? []).reduce((sum, record) => sum + record.length, 0)
      return { first, end, bytes, complete: this.checkpoints.has(end) }
    })
  }

  /** Forgets what there is, which is before a checkpoint, and goes on from there. */
  startAt({ count, lamport, hash }: Head, signedHead: Uint8Array): void {
    this.count = count
    this.lamport = lamport
    this.hash = hash
    this.newestHead = signedHead
    this.addCheckpoint(signedHead)
    for (const first of this.#waiting.keys()) if (first < count) this.#waiting.delete(first)
    this.prune(count)
  }

  prune(count: number): void {
    this.pruned = count
    this.#frames = this.#frames.filter(({ first }) => first >= count)
    for (const kept of [this.events, this.checkpoints])
      for (const place of kept.keys()) if (place < count) kept.delete(place)
  }

  /** Removes a payload and its salt, also one that is still to come. */
  redact(offset: number): void {
    this.#redacted.add(offset)
    this.#frames = this.#frames.map((frame) => {
      if (offset < frame.first || offset >= frame.first + frame.count) return frame
      const kept = this.#withoutRedacted(frame)
      this.#index(kept)
      return kept
    })
  }

  #withoutRedacted(frame: Frame): Frame {
    let kept = frame
    for (let i = 0; i < frame.count; i++)
      if (this.#redacted.has(frame.first + i) && (kept.payloads[2 * i] as number) >= 0)
        kept = readFrame(new ByteReader(withoutPayload(kept, i)))
    return kept
  }

  /** Makes the events of a frame what can be read at their offsets. */
  #index(frame: Frame): void {
    for (let i = 0; i < frame.count; i++) {
      const payload = frame.payloads[2 * i] as number
      if (payload < 0) this.events.delete(frame.first + i)
      else this.events.set(frame.first + i, eventOf(frame, i))
    }
  }
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
