import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { ShoalError } from '../../errors.ts'
import type { PublicKey } from '../../identity/index.ts'
import { limits } from '../../limits.ts'
import type { Frame, StreamKey } from '../../protocol/index.ts'
import { type Block, blockOfFrames } from './block.ts'
import { type Checkpoint, checkpointsOf } from './checkpoints.ts'
import { DamagedData, reading } from './checksum.ts'
import { type ChunkSize, chunkSizes } from './chunk-sizes.ts'
import { chunkFrom } from './chunks.ts'
import { openForReading } from './database.ts'
import { KnownLabels } from './known-labels.ts'
import { LruCache } from './lru.ts'
import { soundRanges } from './ranges.ts'
import { offsetOf, rowKey, type StreamNumber } from './row-key.ts'
import { Segment } from './segment.ts'
import type { SharedCounts } from './shared-counts.ts'
import { streamIdOf } from './stream-id.ts'
import { checkSegmentRow, checkStreamRow, type SegmentRow, type StreamRow } from './stream-state.ts'
import { bucketOf, type IndexRange, lookUp, lookUpAll, type PostingRow, postingKey } from './tag-index.ts'
import { framesOf, type TailRow } from './tail-row.ts'

/** A stream as a reader knows it. */
export interface ReadStream {
  readonly number: StreamNumber
  readonly key: StreamKey
  readonly own: boolean
}

const statements = {
  streams:
    'SELECT number, node, nr, pruned, checkpoint, record, head, crc FROM stream WHERE number >= ? ORDER BY number',
  stream: 'SELECT number, node, nr, pruned, checkpoint, record, head, crc FROM stream WHERE number = ?',
  segmentPlace: 'SELECT key, count, lamport, last, crc FROM segment WHERE key <= ? ORDER BY key DESC LIMIT 1',
  segmentBody: 'SELECT key, count, lamport, last, crc, body FROM segment WHERE key = ?',
  tail: 'SELECT key, count, lamport, hash, raw, crc, body FROM tail WHERE key >= ? AND key < ? ORDER BY key LIMIT ?',
  tailPlace: 'SELECT key FROM tail WHERE key <= ? ORDER BY key DESC LIMIT 1',
  posting: 'SELECT crc, body FROM posting WHERE key = ?',
} as const

/** Reads the log of a topic. No transaction stays open between two calls. */
export class LogReader {
  readonly counts: SharedCounts
  readonly #database: DatabaseSync
  readonly #own: PublicKey
  readonly #prepared = {} as Record<keyof typeof statements, StatementSync>
  #streams: ReadStream[] = []
  #seals = -1
  #removals = -1
  readonly #segments = new LruCache<number, Segment>(limits.segmentCacheBytes)
  readonly #blocks = new LruCache<string, Block>(limits.blockCacheBytes)
  readonly #tails = new LruCache<number, TailFrames>(limits.segmentCacheBytes)
  readonly #labels = new KnownLabels()
  readonly #ranges = new Map<StreamNumber, IndexRange[]>()

  /** Told once about each piece of the index that is damaged. */
  onDamagedIndex: (stream: StreamNumber, offset: number) => void = () => {}
  readonly #damaged = new Set<number>()

  constructor(file: string, counts: SharedCounts, own: PublicKey) {
    this.#database = openForReading(file)
    this.counts = counts
    this.#own = own
    try {
      for (const [name, sql] of Object.entries(statements))
        this.#prepared[name as keyof typeof statements] = this.#database.prepare(sql)
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  /** All streams that have events, or had some. */
  streams(): readonly ReadStream[] {
    if (this.#streams.length < this.counts.streams) {
      const rows = reading(() => this.#prepared.streams.all(this.#streams.length)) as unknown as StreamRow[]
      for (const row of rows) {
        checkStreamRow(row, this.#streams.length)
        const { number, node, nr } = row
        const key = { node: Uint8Array.from(node) as PublicKey, number: nr }
        this.#streams.push({ number, key, own: Buffer.compare(node, this.#own) === 0 })
      }
    }
    return this.#streams
  }

  /**
   * Forgets what is no longer so. Answers how often something was removed: what a query has read at another number than
   * this may be gone, and several queries ask in turn.
   */
  refresh(): number {
    const { seals, removals } = this.counts
    if (this.#seals !== seals) {
      this.#ranges.clear()
      this.#damaged.clear()
    }
    this.#seals = seals
    if (this.#removals === removals) return removals
    this.#removals = removals
    this.#segments.clear()
    this.#blocks.clear()
    this.#tails.clear()
    this.#ranges.clear()
    return removals
  }

  /** The block that holds an event: a piece of a segment, or of the tail. Nothing when it was pruned. */
  block(stream: StreamNumber, offset: number): Block | undefined {
    return reading(() => this.#block(stream, offset))
  }

  /** Of the offsets from one to another the first whose event has at least this lamport timestamp; the one after them when none has. */
  offsetAt(stream: StreamNumber, lamport: number, first: number, last: number): number {
    let [low, high] = [first, last + 1]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const block = this.block(stream, middle)
      // What was pruned is behind everything that is still there.
      if (block === undefined) low = middle + 1
      else if ((block.lamports[0] as number) >= lamport) high = Math.min(middle, block.first)
      else if ((block.lamports[block.count - 1] as number) < lamport) low = block.first + block.count
      else return clamp(block.first + firstAtLeast(block.lamports, lamport), low, high)
    }
    return clamp(low, first, last + 1)
  }

  /** Where each stream stands. */
  status(): (ReadStream & { count: number; pruned: number })[] {
    return this.streams().map((stream) => ({
      ...stream,
      count: this.counts.count(stream.number),
      pruned: this.counts.pruned(stream.number),
    }))
  }

  checkpoints(stream: StreamNumber): Checkpoint[] {
    return reading(() => checkpointsOf(this.#database, stream, this.counts.pruned(stream)))
  }

  chunkSizes(stream: StreamNumber): ChunkSize[] {
    return reading(() => chunkSizes(this.#database, stream, this.counts.count(stream)))
  }

  chunk(stream: StreamNumber, from: number, newest: Uint8Array | undefined): Uint8Array | undefined {
    if (from < this.counts.pruned(stream))
      throw new ShoalError('ERR_INVALID_INPUT', `The events from ${from} on were pruned.`)
    return reading(() => chunkFrom(this.#database, stream, from, newest))
  }

  /** The parts of a stream that are indexed, in order. */
  ranges(stream: StreamNumber): readonly IndexRange[] {
    const known = this.#ranges.get(stream)
    if (known !== undefined) return known
    // A range that is damaged is not used: its events are scanned, which is slow but right.
    const ranges = this.#soundRanges(stream)
    this.#ranges.set(stream, ranges)
    return ranges
  }

  /** The positions in a range of events that may carry what has this hash; nothing when the index is of no use. */
  positions(range: IndexRange, hash: number): number[] | 'most' | undefined {
    const { id, bits } = range
    try {
      const row = this.#prepared.posting.get(postingKey(id, bucketOf(hash, bits))) as unknown as PostingRow | undefined
      if (row !== undefined) return lookUp(range, row, hash)
    } catch {
      // Told below, like a row that is missing.
    }
    this.#tellDamaged(range)
    return undefined
  }

  /** The positions of events that may carry one of many things, in order; nothing when the index is of no use. */
  positionsOfAny(range: IndexRange, hashes: ReadonlySet<number>): number[] | undefined {
    const { id, bits, count } = range
    const marks = new Uint8Array(count)
    const buckets = new Set(Array.from(hashes, (hash) => bucketOf(hash, bits)))
    try {
      for (const bucket of buckets) {
        const row = this.#prepared.posting.get(postingKey(id, bucket)) as unknown as PostingRow | undefined
        if (row === undefined) throw new DamagedData('a row of the index is missing')
        lookUpAll(range, bucket, row, hashes, (positions) => {
          for (const position of positions) marks[position] = 1
        })
      }
    } catch {
      this.#tellDamaged(range)
      return undefined
    }
    const found: number[] = []
    for (let position = 0; position < count; position++) if (marks[position] === 1) found.push(position)
    return found
  }

  /** It may have been merged with others, or pruned, since it was found: whoever is told looks again. */
  #tellDamaged({ id, stream, first }: IndexRange): void {
    if (!this.#damaged.has(id)) this.onDamagedIndex(stream, first)
    this.#damaged.add(id)
  }

  close(): void {
    this.#database.close()
  }

  #soundRanges(stream: StreamNumber): IndexRange[] {
    try {
      return soundRanges(this.#database, stream)
    } catch {
      return []
    }
  }

  #block(stream: StreamNumber, offset: number): Block | undefined {
    const key = rowKey(stream, offset)
    // Between two looks the event may have moved from the tail to a segment; then the next round finds it.
    for (let round = 0; round < 10; round++) {
      const block = this.#sealedBlock(stream, key) ?? this.#tailBlock(stream, key)
      if (block !== undefined) return block
      if (offset < this.#pruned(stream)) return undefined
    }
    throw new DamagedData(`the event ${offset} of stream ${stream} is missing`)
  }

  /** How much of a stream is pruned: the disk knows it before it is told. */
  #pruned(stream: StreamNumber): number {
    const row = this.#prepared.stream.get(stream) as unknown as StreamRow | undefined
    if (row === undefined) throw new DamagedData(`the entry of stream ${stream} is missing`)
    checkStreamRow(row, stream)
    return row.pruned
  }

  #sealedBlock(stream: StreamNumber, key: number): Block | undefined {
    const place = this.#prepared.segmentPlace.get(key) as unknown as SegmentRow | undefined
    if (place === undefined || place.key + place.count <= key || place.key < rowKey(stream, 0)) return undefined
    checkSegmentRow(place)
    const segment = this.#segment(place, stream)
    if (segment === undefined) return undefined
    const index = segment.blockIndex(key - rowKey(stream, 0))
    const name = `${place.key}:${index}`
    const known = this.#blocks.get(name)
    if (known !== undefined) return known
    const block = segment.block(index)
    this.#blocks.set(name, block, block.bytes.length + 24 * block.count)
    return block
  }

  /** Nothing when it was pruned since its place was found. */
  #segment({ key, count }: SegmentRow, stream: StreamNumber): Segment | undefined {
    const known = this.#segments.get(key)
    if (known !== undefined) return known
    const row = this.#prepared.segmentBody.get(key) as unknown as (SegmentRow & { body: Uint8Array }) | undefined
    if (row === undefined) return undefined
    checkSegmentRow(row)
    const segment = new Segment(row.body, key - rowKey(stream, 0))
    if (segment.count !== count) throw new DamagedData(`the segment ${key} has another number of events`)
    this.#segments.set(key, segment, row.body.length)
    return segment
  }

  /** Rows of the tail that are small are read together with those after them, of large ones only a part is made a block. */
  #tailBlock(stream: StreamNumber, key: number): Block | undefined {
    const name = `tail:${key}`
    const known = this.#blocks.get(name)
    if (known !== undefined) return known
    const start = this.#prepared.tailPlace.get(key)?.['key'] as number | undefined
    if (start === undefined || start < rowKey(stream, 0)) return undefined
    const { frames, end } = this.#tailFrames(stream, start)
    if (end <= key) return undefined
    const size = limits.eventsPerBlock
    const from = start + (end - start <= 2 * size ? 0 : Math.floor((key - start) / size) * size)
    const to = Math.min(end, from === start && end - start <= 2 * size ? end : from + size)
    const offsets = [offsetOf(from), offsetOf(to)] as const
    const { key: streamKey } = this.streams()[stream] as ReadStream
    const block = blockOfFrames(frames, streamIdOf(streamKey), this.#labels, offsets)
    this.#blocks.set(name, block, block.bytes.length + 24 * block.count)
    return block
  }

  /** The frames of rows of the tail that follow each other, for about a block. */
  #tailFrames(stream: StreamNumber, start: number): TailFrames {
    const known = this.#tails.get(start)
    if (known !== undefined) return known
    const end = rowKey(stream, this.counts.count(stream))
    const rows = this.#prepared.tail.all(start, end, limits.eventsPerBlock) as unknown as TailRow[]
    const frames: Frame[] = []
    let next = start
    for (const row of rows) {
      if (row.key !== next) break
      frames.push(...framesOf(row))
      next = row.key + row.count
      if (next - start >= limits.eventsPerBlock) break
    }
    const tail = { frames, end: next }
    // More rows may follow what is less than a block.
    if (next - start >= limits.eventsPerBlock)
      this.#tails.set(
        start,
        tail,
        frames.reduce((sum, { bytes }) => sum + bytes.length, 0),
      )
    return tail
  }
}

interface TailFrames {
  readonly frames: readonly Frame[]
  /** The key after the last event. */
  readonly end: number
}

function firstAtLeast(rising: Float64Array, value: number): number {
  let [low, high] = [0, rising.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rising[middle] as number) < value) low = middle + 1
    else high = middle
  }
  return low
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most))
}
