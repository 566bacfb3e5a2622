import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
import { tuning } from '../../../base/tuning.ts'
import { Snapshot, type StreamNumber } from '../../port/index.ts'
import { offsetOf, rowKey, streamOf } from '../rows/row-key.ts'

/** Cells of the header. */
const cell = {
  /** Number of streams. */
  streams: 0,
  /** Counters of seals, removals and appends. */
  seals: 1,
  removals: 2,
  appends: 3,
  /** Counters of changes in the ring: reserved for writing, committed, applied to the cells of the streams. */
  reserved: 4,
  committed: 5,
  applied: 6,
  /** Counter of changes of slots. */
  slots: 7,
  /** The wake-up filters of all reader threads, see `wakeup`. */
  wakeupFilters: 8,
} as const
const header = 8 + tuning.maxReaderThreads

/** Cells per stream: the number of its events, of pruned ones, of sealed ones. */
const perStream = 3
const streamCells = perStream * format.streamsPerTopic

/** The ring has room for all changes of one commit. */
const ringSize = format.streamsPerTopic
const ring = header + streamCells

/** Values of the wake-up filter: new events of all apps, of none, or of one app, as 2 plus the hash of its ID. */
const wakeup = { all: 0, none: 1, app: 2 } as const

/** The counts of a stream after a commit. */
export interface StreamCounts {
  readonly number: StreamNumber
  readonly count: number
  readonly pruned: number
  readonly sealed: number
}

/**
 * Event counts of all streams, published by the writer to the readers through shared memory, before a publish request
 * is acknowledged: the next query finds its events, whichever thread runs it.
 *
 * A commit may change several streams, and readers must see all of it or nothing. So the changes are first written to a
 * ring buffer, and take effect together when `committed` is incremented. The cells of the streams are updated after
 * that, up to `applied`. A reader replays the ring from its last snapshot on, or from the cells if the ring has wrapped
 * around since. It is lock-free: neither side waits for the other.
 */
export class SharedCounts {
  readonly memory: SharedArrayBuffer
  readonly #cells: BigUint64Array

  constructor(memory = new SharedArrayBuffer(8 * (header + streamCells + ringSize))) {
    this.memory = memory
    this.#cells = new BigUint64Array(memory)
  }

  /** The number of streams; they are numbered 0, 1, 2, … */
  get streams(): number {
    return this.#get(cell.streams)
  }

  /** Incremented when the index has changed, for example after a seal. */
  get seals(): number {
    return this.#get(cell.seals)
  }

  /** Incremented when events or payloads were removed: data that was read before may be gone. */
  get removals(): number {
    return this.#get(cell.removals)
  }

  /** Incremented when a number gets another stream, or none: what was read about the streams is outdated. */
  get slotChanges(): number {
    return this.#get(cell.slots)
  }

  /** Incremented before own events are appended. */
  get appends(): number {
    return this.#get(cell.appends)
  }

  /** The count of one stream. Counts of several streams are only consistent in a snapshot. */
  count(stream: StreamNumber): number {
    return this.#get(header + perStream * stream)
  }

  pruned(stream: StreamNumber): number {
    return this.#get(header + perStream * stream + 1)
  }

  /** Events before this offset are sealed or pruned. It may lag behind, so it only says where to look first. */
  sealed(stream: StreamNumber): number {
    return this.#get(header + perStream * stream + 2)
  }

  /** Publishes the counts of streams after a commit, atomically. Only the writer calls this. */
  publish(changed: Iterable<StreamCounts>): void {
    const all = [...changed]
    const grown = all.filter(({ number, count }) => count !== this.count(number))
    // First the number of streams, so that a reader that sees a count finds its stream.
    for (const { number, count, pruned, sealed } of all) {
      assert(number < format.streamsPerTopic, 'a stream has a cell')
      assert(pruned <= count && sealed <= count, 'a stream has no more pruned or sealed events than events')
      if (number >= this.streams) this.#set(cell.streams, number + 1)
    }
    const from = this.#get(cell.committed)
    const to = from + grown.length
    this.#set(cell.reserved, to)
    for (const [i, { number, count }] of grown.entries()) this.#set(ringCell(from + i), rowKey(number, count))
    this.#set(cell.committed, to)
    for (const { number, count, pruned, sealed } of all) {
      this.#set(header + perStream * number, count)
      this.#set(header + perStream * number + 1, pruned)
      this.#set(header + perStream * number + 2, sealed)
    }
    this.#set(cell.applied, to)
  }

  /** The counts of all streams after the last commit; returns `last` if nothing has changed since. */
  snapshot(last?: Snapshot): Snapshot {
    if (last !== undefined && this.#get(cell.committed) === last.version) return last
    let snapshot = last && this.#replay(last)
    while (snapshot === undefined) snapshot = this.#replay(this.#readCells())
    return snapshot
  }

  /** The cells of all streams. Each is at least as new as `applied` was; replaying the ring corrects newer ones. */
  #readCells(): Snapshot {
    const position = this.#get(cell.applied)
    return new Snapshot(
      position,
      Array.from({ length: this.streams }, (_, stream) => this.count(stream)),
    )
  }

  /** Applies the changes since a snapshot; undefined when the writer has overwritten some of them. */
  #replay(base: Snapshot): Snapshot | undefined {
    const to = this.#get(cell.committed)
    const counts = base.counts()
    for (let at = Math.max(base.version, to - ringSize); at < to; at++) {
      const change = this.#get(ringCell(at))
      while (counts.length <= streamOf(change)) counts.push(0)
      counts[streamOf(change)] = offsetOf(change)
    }
    return this.#get(cell.reserved) - base.version <= ringSize ? new Snapshot(to, counts) : undefined
  }

  incrementAppends(): void {
    this.#set(cell.appends, this.appends + 1)
  }

  incrementSlotChanges(): void {
    this.#set(cell.slots, this.slotChanges + 1)
  }

  incrementSeals(): void {
    this.#set(cell.seals, this.seals + 1)
  }

  incrementRemovals(): void {
    this.#set(cell.removals, this.removals + 1)
  }

  /**
   * Sets the wake-up filter of a reader thread. No wake-up is lost: the reader sets it before it takes a snapshot,
   * and the writer checks it after publishing the new counts.
   */
  setWakeupFilter(reader: number, events: 'all' | 'none' | { readonly app: number }): void {
    if (events === 'all') this.#set(filterCell(reader), wakeup.all)
    else this.#set(filterCell(reader), events === 'none' ? wakeup.none : wakeup.app + events.app)
  }

  /** Whether the wake-up filter of a reader thread matches events of these apps; undefined means unknown apps. */
  matchesWakeupFilter(reader: number, apps: ReadonlySet<number> | undefined): boolean {
    const filter = this.#get(filterCell(reader))
    if (filter < wakeup.app) return filter === wakeup.all
    return apps?.has(filter - wakeup.app) ?? true
  }

  #get(at: number): number {
    return Number(Atomics.load(this.#cells, at))
  }

  #set(at: number, value: number): void {
    Atomics.store(this.#cells, at, BigInt(value))
  }
}

function filterCell(reader: number): number {
  assert(reader < tuning.maxReaderThreads, 'a reader thread has a wake-up filter')
  return cell.wakeupFilters + reader
}

function ringCell(change: number): number {
  return ring + (change % ringSize)
}
