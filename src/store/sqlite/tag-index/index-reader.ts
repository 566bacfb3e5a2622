import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { LruCache } from '../../../base/lru-cache.ts'
import { tuning } from '../../../base/tuning.ts'
import { rethrowDiskError } from '../../disk/disk-io-error.ts'
import type { StreamNumber, TimeRange } from '../../port/index.ts'
import { DamagedData } from '../rows/checksum.ts'
import { RangeTimes } from '../time-index/range-times.ts'
import type { TimeGroups } from '../time-index/time-groups.ts'
import { soundRangeAt, soundRangesOf } from './index-ranges.ts'
import type { IndexedEvents } from './indexed-events.ts'
import { bucketOf, type IndexRange, lookUp, lookUpAll, type PostingRow, postingKey } from './tag-index.ts'

/** Reads the stored index, through caches. A damaged part of it is reported, and its events are scanned. */
export class IndexReader {
  /** Called once for each damaged range. */
  onDamaged: (stream: StreamNumber, offset: number) => void = () => {}
  readonly #posting: StatementSync
  readonly #allRangesOf: ReturnType<typeof soundRangesOf>
  readonly #rangeAt: ReturnType<typeof soundRangeAt>
  readonly #storedTimes: RangeTimes
  /** Caches: all ranges of a stream, and single ranges that were looked up. */
  readonly #allRanges = new Map<StreamNumber, IndexRange[]>()
  readonly #singleRanges = new Map<StreamNumber, IndexRange[]>()
  /** The earliest and latest times of ranges: most ranges are skipped by them. */
  readonly #bounds = new Map<number, readonly [earliest: number, latest: number]>()
  readonly #times = new LruCache<number, TimeGroups>(tuning.timesCacheBytes)
  /** IDs of ranges that were reported. */
  readonly #damaged = new Set<number>()

  constructor(database: DatabaseSync) {
    this.#posting = database.prepare('SELECT crc, body FROM posting WHERE key = ?')
    this.#allRangesOf = soundRangesOf(database)
    this.#rangeAt = soundRangeAt(database)
    this.#storedTimes = new RangeTimes(database)
  }

  /** Clears what may be outdated after ranges were added, merged or dropped. */
  clearRanges(): void {
    this.#allRanges.clear()
    this.#singleRanges.clear()
    this.#damaged.clear()
    this.#bounds.clear()
  }

  /** The ranges of a stream, in order. */
  ranges(stream: StreamNumber): readonly IndexRange[] {
    const known = this.#allRanges.get(stream)
    if (known !== undefined) return known
    // Without damaged ranges: their events are scanned, which is slow but correct.
    const ranges = soundOr([], () => this.#allRangesOf(stream))
    this.#allRanges.set(stream, ranges)
    return ranges
  }

  /** The index of the range that contains an event. Reading one is much faster than all, and often enough. */
  rangeAt(stream: StreamNumber, offset: number): IndexedEvents | undefined {
    const found = this.#singleRanges.get(stream) ?? []
    const known = found.findLast((range) => contains(range, offset))
    if (known !== undefined) return new StoredIndex(this, known)
    const range =
      soundOr(undefined, () => this.#rangeAt(stream, offset)) ??
      this.ranges(stream).find((range) => contains(range, offset))
    if (range === undefined) return undefined
    this.#singleRanges.set(stream, [...found, range])
    return new StoredIndex(this, range)
  }

  /** The positions of events in a range whose labels may have this hash; undefined when the index is damaged. */
  positions(range: IndexRange, hash: number): number[] | 'most' | undefined {
    const { id, bits } = range
    return this.#reportingDamage(range, () => lookUp(range, this.#row(postingKey(id, bucketOf(hash, bits))), hash))
  }

  /** The same for any of several hashes, in order. */
  positionsOfAny(range: IndexRange, hashes: ReadonlySet<number>): number[] | undefined {
    const { id, bits, count } = range
    const marks = new Uint8Array(count)
    const buckets = new Set(Array.from(hashes, (hash) => bucketOf(hash, bits)))
    return this.#reportingDamage(range, () => {
      for (const bucket of buckets)
        lookUpAll(range, bucket, this.#row(postingKey(id, bucket)), hashes, (positions) => {
          for (const position of positions) marks[position] = 1
        })
      const found: number[] = []
      for (let position = 0; position < count; position++) if (marks[position] === 1) found.push(position)
      return found
    })
  }

  /** The times of a range; undefined when they are missing or damaged. */
  times(range: IndexRange): TimeGroups | undefined {
    const known = this.#times.get(range.id)
    if (known !== undefined) return known
    const times = this.#reportingDamage(range, () => this.#storedTimes.of(range))
    if (times === undefined) return undefined
    this.#times.set(range.id, times, times.heldBytes)
    this.#bounds.set(range.id, times.bounds)
    return times
  }

  /** Whether a range may have events within a range of times. */
  overlaps(range: IndexRange, { from, to }: TimeRange): boolean {
    const [earliest, latest] = this.#bounds.get(range.id) ?? this.times(range)?.bounds ?? [0, Number.POSITIVE_INFINITY]
    return latest >= from && earliest < to
  }

  #row(key: number): PostingRow {
    const row = this.#posting.get(key) as unknown as PostingRow | undefined
    if (row === undefined) throw new DamagedData('a row of the index is missing')
    return row
  }

  /** Reports damage, and returns undefined instead. The receiver checks the range again: it may be merged or pruned. */
  #reportingDamage<T>({ id, stream, first }: IndexRange, read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      rethrowDiskError(error)
      if (!this.#damaged.has(id)) this.onDamaged(stream, first)
      this.#damaged.add(id)
      return undefined
    }
  }
}

class StoredIndex implements IndexedEvents {
  readonly #reader: IndexReader
  readonly #range: IndexRange

  constructor(reader: IndexReader, range: IndexRange) {
    this.#reader = reader
    this.#range = range
  }

  get first(): number {
    return this.#range.first
  }

  get count(): number {
    return this.#range.count
  }

  overlaps(range: TimeRange): boolean {
    return this.#reader.overlaps(this.#range, range)
  }

  get times(): TimeGroups | undefined {
    return this.#reader.times(this.#range)
  }

  positions(hash: number): number[] | 'most' | undefined {
    return this.#reader.positions(this.#range, hash)
  }

  positionsOfAny(hashes: ReadonlySet<number>): number[] | undefined {
    return this.#reader.positionsOfAny(this.#range, hashes)
  }
}

function soundOr<T>(fallback: T, read: () => T): T {
  try {
    return read()
  } catch (error) {
    rethrowDiskError(error)
    return fallback
  }
}

function contains({ first, count }: IndexRange, offset: number): boolean {
  return first <= offset && offset < first + count
}
