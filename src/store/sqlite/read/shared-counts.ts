import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
import { Snapshot, type StreamNumber } from '../../port/index.ts'
import { offsetOf, rowKey, streamOf } from '../rows/row-key.ts'

/** Cells that stand once. */
const cell = {
  /** Number of streams. */
  streams: 0,
  /** Times of sealing, of removing, of appending. */
  seals: 1,
  removals: 2,
  appends: 3,
  /** Whose events are waited for. */
  waitingFor: 4,
  /** Changes in the ring: those that are about to be written, those that count, those that the cells of streams have as well. */
  reserved: 5,
  committed: 6,
  applied: 7,
} as const
const header = 8

/** Cells of each stream: how many events it has, how many are pruned, how many sealed. */
const perStream = 3
const streamCells = perStream * format.streamsPerTopic

/** The ring has room for all changes of one commit. */
const ringSize = format.streamsPerTopic
const ring = header + streamCells

/** Whose new events are waited for: from 2 on it is the hash of an app ID. */
const waiting = { forAll: 0, forNone: 1, forApp: 2 } as const

/** Where a stream stands after a commit. */
export interface StreamCounts {
  readonly number: StreamNumber
  readonly count: number
  readonly pruned: number
  readonly sealed: number
}

/**
 * Event counts of all streams, published by the writer to the readers through shared memory: whoever has got the answer to a
 * publish finds its events in the next query, whichever thread runs it.
 *
 * A commit may change several streams, and readers must see all of it or nothing. So the changes of a commit are first written to a
 * ring, and take effect together when the counter `committed` rises. The cell of each stream follows after that; `applied` says up
 * to where. A reader replays the ring from its last snapshot on, or from the cells when the ring has wrapped around meanwhile.
 * Neither side ever waits for the other.
 */
export class SharedCounts {
  readonly memory: SharedArrayBuffer
  readonly #cells: BigUint64Array

  constructor(memory = new SharedArrayBuffer(8 * (header + streamCells + ringSize))) {
    this.memory = memory
    this.#cells = new BigUint64Array(memory)
  }

  /** How many streams there are: their numbers are 0, 1, 2, … */
  get streams(): number {
    return this.#get(cell.streams)
  }

  /** Rises whenever events were sealed: they have an index now. */
  get seals(): number {
    return this.#get(cell.seals)
  }

  /** Rises whenever something was removed: what was read before may be gone. */
  get removals(): number {
    return this.#get(cell.removals)
  }

  /** Rises whenever own events are about to be stored. */
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

  /** Events before this one are sealed or pruned. More may be by now: it only says where to look first. */
  sealed(stream: StreamNumber): number {
    return this.#get(header + perStream * stream + 2)
  }

  /** Publishes where streams stand after a commit, all at once. Only the writer calls this. */
  publish(changed: Iterable<StreamCounts>): void {
    const all = [...changed]
    const grown = all.filter(({ number, count }) => count !== this.count(number))
    // First, so that whoever sees a count of a stream finds the stream.
    for (const { number, count, pruned, sealed } of all) {
      assert(number < format.streamsPerTopic, 'a stream has a cell')
      assert(pruned <= count && sealed <= count, 'a stream has pruned and sealed only what it has')
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

  /** The counts of all streams after the last commit. That is the last snapshot when nothing has changed since. */
  snapshot(last?: Snapshot): Snapshot {
    if (last !== undefined && this.#get(cell.committed) === last.position) return last
    let snapshot = last && this.#replay(last)
    while (snapshot === undefined) snapshot = this.#replay(this.#readCells())
    return snapshot
  }

  /** The cells of all streams: each is as new as what had been applied before it was read, or newer. The ring tells which are newer. */
  #readCells(): Snapshot {
    const position = this.#get(cell.applied)
    return new Snapshot(
      position,
      Array.from({ length: this.streams }, (_, stream) => this.count(stream)),
    )
  }

  /** What a base becomes with the changes since; nothing when the writer has overwritten some of them. */
  #replay(base: Snapshot): Snapshot | undefined {
    const to = this.#get(cell.committed)
    const counts = base.counts()
    for (let at = Math.max(base.position, to - ringSize); at < to; at++) {
      const change = this.#get(ringCell(at))
      while (counts.length <= streamOf(change)) counts.push(0)
      counts[streamOf(change)] = offsetOf(change)
    }
    return this.#get(cell.reserved) - base.position <= ringSize ? new Snapshot(to, counts) : undefined
  }

  tellAppending(): void {
    this.#set(cell.appends, this.appends + 1)
  }

  tellSealed(): void {
    this.#set(cell.seals, this.seals + 1)
  }

  tellRemoved(): void {
    this.#set(cell.removals, this.removals + 1)
  }

  /**
   * Sets the wake-up filter of the reader thread. No wake-up is lost: the reader sets it before it takes a snapshot, and the
   * writer checks it after it has published the new counts.
   */
  waitFor(events: 'all' | 'none' | { readonly app: number }): void {
    if (events === 'all') this.#set(cell.waitingFor, waiting.forAll)
    else this.#set(cell.waitingFor, events === 'none' ? waiting.forNone : waiting.forApp + events.app)
  }

  /** Whether somebody waits for events of these apps; nothing stands for any app. */
  isWaitedFor(apps: ReadonlySet<number> | undefined): boolean {
    const state = this.#get(cell.waitingFor)
    if (state < waiting.forApp) return state === waiting.forAll
    return apps?.has(state - waiting.forApp) ?? true
  }

  #get(at: number): number {
    return Number(Atomics.load(this.#cells, at))
  }

  #set(at: number, value: number): void {
    Atomics.store(this.#cells, at, BigInt(value))
  }
}

function ringCell(change: number): number {
  return ring + (change % ringSize)
}
