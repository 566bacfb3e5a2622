import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { assert } from '../../../base/assert.ts'
import { firstAtLeast } from '../../../base/binary-search.ts'
import { ShoalError } from '../../../base/errors.ts'
import type { PublicKey } from '../../../identity/index.ts'
import type { StreamKey } from '../../../protocol/index.ts'
import type { Clock } from '../../../runtime/clock.ts'
import {
  type Checkpoint,
  type ChunkSize,
  type FrameTime,
  type NewestTime,
  newestTimeIn,
  type ReadStream,
  type Snapshot,
  type StreamNumber,
  type StreamStatus,
} from '../../port/index.ts'
import { openForReading } from '../log-database.ts'
import { checkpointsAfter, checkpointsOf } from '../rows/checkpoints.ts'
import { asDamage, DamagedData } from '../rows/checksum.ts'
import { chunkSizes } from '../rows/chunk-sizes.ts'
import { redactedBetween } from '../rows/redacted-offsets.ts'
import { rowKey } from '../rows/row-key.ts'
import { streamIdOf } from '../rows/stream-id.ts'
import { checkStreamRow, isVacant, type StreamRow } from '../rows/stream-row.ts'
import { IndexReader } from '../tag-index/index-reader.ts'
import { TailIndexes } from '../tag-index/tail-indexes.ts'
import { framesOfChunk } from './chunks.ts'
import type { LabelledBlock } from './labelled-block.ts'
import { SealedBlocks } from './sealed-blocks.ts'
import type { SharedCounts } from './shared-counts.ts'
import { StreamServer } from './stream-server.ts'
import type { TailBlock } from './tail-block.ts'
import { TailBlocks } from './tail-blocks.ts'

const statements = {
  streams:
    'SELECT number, node, nr, pruned, checkpoint, record, head, crc FROM stream WHERE number >= ? ORDER BY number',
  stream: 'SELECT number, node, nr, pruned, checkpoint, record, head, crc FROM stream WHERE number = ?',
} as const

/** How the caches share their memory. */
const cacheShares = { blocks: 7 / 16, tail: 2 / 16, tailIndexes: 5 / 16 } as const

/** Reads blocks of events and stream metadata. No transaction stays open between two calls. */
export class BlockReader {
  readonly counts: SharedCounts
  readonly clock: Clock
  readonly index: IndexReader
  readonly tailIndexes: TailIndexes
  readonly #database: DatabaseSync
  readonly #own: PublicKey
  readonly #prepared = {} as Record<keyof typeof statements, StatementSync>
  #streams: ReadStream[] = []
  #streamIds: string[] = []
  #slotChanges = -1
  #snapshot: Snapshot | undefined
  #seals = -1
  #removals = -1
  readonly #sealed: SealedBlocks
  readonly #tail: TailBlocks
  readonly #server: StreamServer
  /** The last looked up lamport timestamp of each stream: mostly that of its newest event. */
  readonly #lamports = new Map<StreamNumber, { readonly offset: number; readonly lamport: number }>()

  constructor(file: string, counts: SharedCounts, own: PublicKey, clock: Clock) {
    this.clock = clock
    this.#database = openForReading(file)
    this.counts = counts
    this.#own = own
    this.#server = new StreamServer(this.#database, counts, () => this.streams())
    try {
      for (const [name, sql] of Object.entries(statements))
        this.#prepared[name as keyof typeof statements] = this.#database.prepare(sql)
      this.#sealed = new SealedBlocks(this.#database)
      this.#tail = new TailBlocks(this.#database)
      this.index = new IndexReader(this.#database)
      this.tailIndexes = new TailIndexes((stream, offset) => this.#checked(() => this.#tailBlock(stream, offset, 1)))
      // Warms the cache for the first query.
      this.streams()
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  /**
   * Sets the capacity of its caches together. The shares leave a part free: cached events take more memory than is
   * counted.
   */
  set cacheBytes(bytes: number) {
    this.#sealed.cacheBytes = bytes * cacheShares.blocks
    this.#tail.cacheBytes = bytes * cacheShares.tail
    this.tailIndexes.capacity = bytes * cacheShares.tailIndexes
  }

  streams(): readonly ReadStream[] {
    const { slotChanges } = this.counts
    if (this.#slotChanges !== slotChanges) {
      this.#slotChanges = slotChanges
      this.#streams = []
      this.#streamIds = []
    }
    if (this.#streams.length < this.counts.streams) {
      const rows = this.#checked(() => this.#prepared.streams.all(this.#streams.length)) as unknown as StreamRow[]
      for (const row of rows) {
        checkStreamRow(row, this.#streams.length)
        const { number, node, nr } = row
        const key = { node: Uint8Array.from(node) as PublicKey, number: nr }
        const stream = { number, key, own: Buffer.compare(node, this.#own) === 0 }
        this.#streams.push(isVacant(row) ? { ...stream, isVacant: true } : stream)
      }
    }
    return this.#streams
  }

  snapshot(): Snapshot {
    this.#snapshot = this.counts.snapshot(this.#snapshot)
    return this.#snapshot
  }

  /**
   * Invalidates outdated caches. Returns the number of removals so far: events that a query has read at a lower number
   * may be gone. Several queries share this reader.
   */
  refresh(): number {
    const { seals, removals } = this.counts
    if (this.#seals !== seals) this.index.clearRanges()
    this.#seals = seals
    if (this.#removals === removals) return removals
    this.#removals = removals
    this.#sealed.clear()
    this.#tail.clear()
    this.index.clearRanges()
    return removals
  }

  /** The block that contains an event, to read on in the direction of `step`. Undefined when the event was pruned. */
  block(stream: StreamNumber, offset: number, step: 1 | -1 = 1): LabelledBlock | undefined {
    return this.#checked(() => this.#block(stream, offset, step))
  }

  /** Indexes the unsealed events of a stream, so that the next query does not have to. */
  indexTail(stream: StreamNumber): void {
    const [last, sealed] = [this.counts.count(stream) - 1, this.counts.sealed(stream)]
    if (last >= sealed) this.tailIndexes.extendedTo(stream, sealed, last)
  }

  /** The number of pruned events of a stream, from disk, which is ahead of the shared counts. */
  prunedOf(stream: StreamNumber): number {
    return this.#checked(() => this.#pruned(stream))
  }

  /** The lamport timestamp of an event, which never changes; undefined when it was pruned. Caches one per stream. */
  lamportOf(stream: StreamNumber, offset: number): number | undefined {
    const known = this.#lamports.get(stream)
    if (known?.offset === offset) return known.lamport
    const block = this.block(stream, offset, -1)
    if (block === undefined) return undefined
    const lamport = block.lamports[offset - block.first] as number
    this.#lamports.set(stream, { offset, lamport })
    return lamport
  }

  /** Binary search for the first offset in `first..last` with at least this lamport timestamp; else `last + 1`. */
  offsetAt(stream: StreamNumber, lamport: number, first: number, last: number): number {
    let [low, high] = [first, last + 1]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const block = this.block(stream, middle)
      // Pruned events are before all others.
      if (block === undefined) low = middle + 1
      else if ((block.lamports[0] as number) >= lamport) high = Math.min(middle, block.first)
      else if ((block.lamports[block.count - 1] as number) < lamport) low = block.first + block.count
      else return clamp(block.first + firstAtLeast(block.lamports, lamport), low, high)
    }
    return clamp(low, first, last + 1)
  }

  status(): StreamStatus[] {
    const snapshot = this.snapshot()
    const streams = this.streams().filter((stream) => stream.isVacant !== true)
    return streams.map((stream) => this.#statusOf(stream, snapshot))
  }

  /** The status of the stream with a key. */
  statusOf(key: StreamKey): StreamStatus | undefined {
    const stream = this.serve((server) => server.find(key))
    return stream && this.#statusOf(stream, this.snapshot())
  }

  #statusOf(stream: ReadStream, snapshot: Snapshot): StreamStatus {
    const count = snapshot.count(stream.number)
    // A prune record after the snapshot may have moved the start of a stream beyond its end.
    return { ...stream, count, pruned: Math.min(this.counts.pruned(stream.number), count) }
  }

  checkpoints(stream: StreamNumber): Checkpoint[] {
    if (this.streams()[stream]?.isVacant === true) return []
    return this.#checked(() => checkpointsOf(this.#database, stream, this.counts.pruned(stream)))
  }

  checkpointsAfter(stream: StreamNumber, count: number, most: number): Checkpoint[] {
    if (this.streams()[stream]?.isVacant === true) return []
    const after = Math.max(count, this.counts.pruned(stream))
    return this.#checked(() => checkpointsAfter(this.#database, stream, after, most))
  }

  chunkSizes(stream: StreamNumber): ChunkSize[] {
    return this.#checked(() => chunkSizes(this.#database, stream, this.counts.count(stream)))
  }

  newestTime(stream: StreamNumber, from: number, to: number): NewestTime {
    this.refresh()
    const block = this.block(stream, to)
    if (block === undefined) throw new ShoalError('ERR_INVALID_INPUT', `The event ${to} was pruned.`)
    const time = newestTimeIn([block], from, to)
    assert(time !== undefined, 'the block contains the last event')
    return { first: Math.max(from, block.first), time }
  }

  framesOfChunk(stream: StreamNumber, from: number): FrameTime[] {
    if (this.streams()[stream]?.isVacant === true) return []
    return this.#checked(() => framesOfChunk(this.#database, stream, from, this.counts.count(stream)))
  }

  redactedOffsets(stream: StreamNumber, from: number, to: number): number[] {
    if (this.streams()[stream]?.isVacant === true) return []
    return this.#checked(() => redactedBetween(this.#database, stream, from, to))
  }

  chunk(stream: StreamNumber, from: number, newest: Uint8Array | undefined, maxBytes?: number): Uint8Array | undefined {
    return this.serve((server) => server.chunk(stream, from, newest, maxBytes))
  }

  /** Reads streams for other nodes. */
  serve<T>(read: (server: StreamServer) => T): T {
    return this.#checked(() => read(this.#server))
  }

  close(): void {
    this.#database.close()
  }

  #checked<T>(read: () => T): T {
    try {
      return asDamage(read)
    } catch (error) {
      // SQLite would keep the bad pages in its cache: the next attempt has to read the disk.
      if (error instanceof DamagedData) this.#database.exec('PRAGMA shrink_memory')
      throw error
    }
  }

  #block(stream: StreamNumber, offset: number, step: 1 | -1): LabelledBlock | undefined {
    const key = rowKey(stream, offset)
    const sealed = (): LabelledBlock | undefined => this.#sealed.at(stream, key)
    const tail = (): LabelledBlock | undefined => this.#tailBlock(stream, offset, step)
    const [first, second] = offset < this.counts.sealed(stream) ? [sealed, tail] : [tail, sealed]
    // The event may move from the tail to a segment between the two reads; the next round finds it.
    for (let round = 0; round < 10; round++) {
      const block = first() ?? second()
      if (block !== undefined) return block
      if (offset < this.#pruned(stream)) return undefined
    }
    throw new DamagedData(`the event ${offset} of stream ${stream} is missing`)
  }

  #tailBlock(stream: StreamNumber, offset: number, step: 1 | -1): TailBlock | undefined {
    return this.#tail.at(this.#streamId(stream), rowKey(stream, offset), step)
  }

  #streamId(stream: StreamNumber): string {
    this.#streamIds[stream] ??= streamIdOf((this.streams()[stream] as ReadStream).key)
    return this.#streamIds[stream]
  }

  #pruned(stream: StreamNumber): number {
    const row = this.#prepared.stream.get(stream) as unknown as StreamRow | undefined
    if (row === undefined) throw new DamagedData(`the entry of stream ${stream} is missing`)
    checkStreamRow(row, stream)
    return row.pruned
  }
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most))
}
