import { assert } from '../../../base/assert.ts'
import { compareEvents } from '../../../replication/index.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type {
  BlockEvent,
  EventCursor,
  EventSink,
  ReadStream,
  Selection,
  Snapshot,
  StreamNumber,
} from '../../port/index.ts'
import { branchSetsOf } from '../tag-index/branch-set.ts'
import type { BlockReader } from './block-reader.ts'
import { StreamCursor } from './stream-cursor.ts'

/** Streams that are moved to their first event between two checks of the clock. */
const streamsPerClock = 4

/**
 * Merges the selected events of all streams in the total order: by lamport timestamp, then by stream. It works in
 * slices and pins no snapshot of the database between them.
 */
export class LogCursor implements EventCursor {
  readonly #reader: BlockReader
  readonly #descending: boolean
  readonly #byStream: boolean
  /** A min-heap of the cursors that have events left, by their next event. */
  readonly #heap: StreamCursor[] = []
  /** Cursors that still have to be moved to their next event. */
  #unpositioned: StreamCursor[] = []
  /** Of a live cursor: the cursors of all streams, to extend them. */
  readonly #live: Map<StreamNumber, StreamCursor> | undefined
  readonly #selection: Selection
  /** The upper bound of reading. */
  #snapshot: Snapshot
  /** The number of removals when the cursors were positioned. */
  #removals: number
  /** Cursors whose offsets still have to be narrowed to the selected lamport timestamps. */
  readonly #toNarrow = new Set<StreamCursor>()
  /** Whether cursors start with an estimate: the newest events are mostly in a few streams, and only those are searched. */
  #estimates: boolean
  /** `next` has returned the event on top. */
  #taken = false
  /** The cursor on top has not reached its next event yet. */
  #isTopSeeking = false
  /** The end of the current slice. */
  #deadline = Number.POSITIVE_INFINITY

  /** A live cursor reads up to a given snapshot, in ascending order, and can be extended to later ones. */
  constructor(reader: BlockReader, selection: Selection, { live }: { readonly live?: Snapshot | undefined } = {}) {
    assert(live === undefined || selection.order === 'asc', 'a live cursor is ascending')
    this.#reader = reader
    this.#selection = selection
    this.#live = live && new Map()
    this.#descending = selection.order === 'desc'
    this.#byStream = selection.order === 'stream-asc'
    this.#estimates = this.#descending
    this.#removals = reader.refresh()
    this.#snapshot = live ?? reader.snapshot()
    const { upper } = selection
    // Without streams that are newer than the snapshot.
    for (const stream of reader.streams().slice(0, this.#snapshot.streams)) {
      // The number may get a stream later, which a live cursor is extended to.
      if (stream.isVacant === true) continue
      const last = this.#snapshot.count(stream.number) - 1
      this.#add(stream, upper === undefined ? last : Math.min(last, upper.get(stream.number) ?? -1))
    }
  }

  /** Size of the current blocks of all streams. */
  get heldBytes(): number {
    let bytes = 0
    for (const cursor of this.#heap) bytes += cursor.heldBytes
    return bytes
  }

  /** Extends all streams to a later snapshot at once, so that the order is kept. It replaces the upper bound. */
  extend(snapshot: Snapshot): void {
    assert(this.#live !== undefined, 'only a live cursor can be extended')
    const streams = this.#reader.streams()
    for (const number of snapshot.grownSince(this.#snapshot)) {
      const last = snapshot.count(number) - 1
      const known = this.#live.get(number)
      if (known === undefined) this.#add(streams[number] as ReadStream, last)
      else if (known.extend(last)) this.#unpositioned.push(known)
    }
    this.#snapshot = snapshot
  }

  /** Adds a cursor for a stream, from the lower bound to `last`. */
  #add(stream: ReadStream, last: number): void {
    const sets = branchSetsOf(this.#selection)
    const branches = stream.own ? sets.own : sets.others
    const lower = this.#selection.lower?.get(stream.number) ?? -1
    const first = Math.max(this.#reader.counts.pruned(stream.number), lower + 1)
    if (branches.isEmpty || (this.#live === undefined && first > last)) return
    const wanted = { branches, times: this.#selection.times, isLive: this.#live !== undefined }
    const cursor = new StreamCursor(this.#reader, stream, wanted, first, last, this.#descending ? -1 : 1)
    this.#live?.set(stream.number, cursor)
    if (this.#selection.lamports !== undefined) this.#toNarrow.add(cursor)
    this.#unpositioned.push(cursor)
  }

  /** Passes events to the sink until it returns false or the deadline has passed. Returns true when none are left. */
  run(sink: EventSink, deadline = Number.POSITIVE_INFINITY): boolean {
    this.begin(deadline)
    const slice = new Slice(sink, deadline, this.#reader.clock)
    while (this.#advance() && this.#heap.length > 0) {
      const goesOn = this.#drain(this.#heap[0] as StreamCursor, this.#second(), slice)
      if (!this.#isTopSeeking) this.#siftDown()
      if (!goesOn) break
    }
    return !this.isPending && this.#heap.length === 0
  }

  #narrow(cursor: StreamCursor): void {
    cursor.narrow((first, last) => this.#inLamports(cursor.stream, first, last))
  }

  /** Lamport timestamps ascend with offsets, so a range of the former is a range of the latter. */
  #inLamports({ number }: ReadStream, first: number, last: number): [number, number] {
    const { lamports } = this.#selection
    if (lamports === undefined || first > last) return [first, last]
    const from = lamports.from <= 0 ? first : this.#reader.offsetAt(number, lamports.from, first, last)
    // The upper bound of a live cursor is checked per event: later events have greater timestamps.
    if (this.#live !== undefined || lamports.to === Number.POSITIVE_INFINITY) return [from, last]
    return [from, this.#reader.offsetAt(number, lamports.to + 1, from, last) - 1]
  }

  /**
   * The next event, valid until the next call. To be used between `begin` and the end of a slice. Undefined at the end,
   * or when the deadline has passed: then `isPending` is true.
   */
  next(): BlockEvent | undefined {
    if (!this.#advance()) return undefined
    const top = this.#heap[0]
    this.#taken = top !== undefined
    // All cursors in the heap are at an event, so they have a block.
    return top as BlockEvent | undefined
  }

  /** Whether there may be events left that were not found before the deadline. */
  get isPending(): boolean {
    return this.#isTopSeeking || this.#unpositioned.length > 0 || this.#heap[0]?.isEstimate === true
  }

  /** Begins a slice: moves cursors on whose events were removed since the last one. */
  begin(deadline = Number.POSITIVE_INFINITY): void {
    this.#deadline = deadline
    const removals = this.#reader.refresh()
    if (removals === this.#removals) return
    this.#removals = removals
    this.#skipTaken()
    const positioned = this.#heap.splice(0)
    if (this.#isTopSeeking) this.#unpositioned.push(positioned.shift() as StreamCursor)
    this.#isTopSeeking = false
    for (const cursor of this.#unpositioned) cursor.dropBlock()
    for (const cursor of positioned) {
      if (cursor.isEstimate || cursor.reload()) this.#push(cursor)
      else this.#unpositioned.push(cursor)
    }
  }

  /** Moves all cursors to their next events. Returns false when the deadline passes before that. */
  #advance(): boolean {
    this.#skipTaken()
    if (this.#isTopSeeking) {
      if (this.#heap[0]?.next(this.#deadline) === 'later') return false
      this.#isTopSeeking = false
      this.#siftDown()
    }
    for (let moved = 1; this.#unpositioned.length > 0; moved++) {
      const cursor = this.#unpositioned.at(-1) as StreamCursor
      if (this.#toNarrow.delete(cursor)) this.#narrow(cursor)
      const found = (this.#estimates && cursor.estimate()) || cursor.next(this.#deadline)
      if (found === 'later') return false
      this.#unpositioned.pop()
      if (found) this.#push(cursor)
      // Not after the last stream: then it would look as if there were no events.
      const isDue = moved % streamsPerClock === 0 && this.#unpositioned.length > 0
      if (isDue && this.#reader.clock.steadyMs() >= this.#deadline) return false
    }
    this.#estimates = false
    return this.#replaceEstimates()
  }

  /** Moves cursors with an estimate to their events, until the top cursor is at one. Returns false at the deadline. */
  #replaceEstimates(): boolean {
    for (let moved = 1, top = this.#heap[0]; top?.isEstimate; top = this.#heap[0]) {
      if (moved++ % streamsPerClock === 0 && this.#reader.clock.steadyMs() >= this.#deadline) return false
      this.#isTopSeeking = true
      if (top.next(this.#deadline) === 'later') return false
      this.#isTopSeeking = false
      this.#siftDown()
    }
    return true
  }

  /** Takes events of one stream until another stream is next. Returns whether the slice continues. */
  #drain(cursor: StreamCursor, second: StreamCursor | undefined, slice: Slice): boolean {
    const before = second === undefined || this.#byStream ? Number.POSITIVE_INFINITY : second.lamport
    do {
      const { block } = cursor
      const goesOn = slice.take(cursor, before)
      const found = cursor.next(slice.deadline)
      if (cursor.block !== block) block?.dispose?.()
      this.#isTopSeeking = found === 'later'
      if (found !== true || !goesOn) return goesOn
    } while (second === undefined || this.#isBefore(cursor, second))
    return true
  }

  /** Moves on from the event that `next` has returned. */
  #skipTaken(): void {
    if (this.#taken) this.#isTopSeeking = true
    this.#taken = false
  }

  #isBefore(a: StreamCursor, b: StreamCursor): boolean {
    if (this.#byStream) return a.stream.number < b.stream.number
    const order = compareEvents(a, b)
    return this.#descending ? order > 0 : order < 0
  }

  #second(): StreamCursor | undefined {
    const [, left, right] = this.#heap
    if (left === undefined || right === undefined) return left
    return this.#isBefore(left, right) ? left : right
  }

  #push(cursor: StreamCursor): void {
    const heap = this.#heap
    heap.push(cursor)
    let at = heap.length - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(cursor, heap[parent] as StreamCursor)) break
      heap[at] = heap[parent] as StreamCursor
      at = parent
    }
    heap[at] = cursor
  }

  /** Restores the heap after the top cursor has moved; removes the cursor when it is at its end. */
  #siftDown(): void {
    const heap = this.#heap
    let cursor = heap[0] as StreamCursor
    if (!Number.isFinite(cursor.lamport)) {
      const last = heap.pop() as StreamCursor
      if (heap.length === 0) return
      cursor = last
    }
    let at = 0
    while (true) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && this.#isBefore(heap[child + 1] as StreamCursor, heap[child] as StreamCursor))
        child++
      if (!this.#isBefore(heap[child] as StreamCursor, cursor)) break
      heap[at] = heap[child] as StreamCursor
      at = child
    }
    heap[at] = cursor
  }
}

/** Events between two checks of the clock. */
const eventsPerClock = 64

/** One slice: passes events to the sink until it returns false or the deadline has passed. */
class Slice {
  readonly deadline: number
  readonly #sink: EventSink
  readonly #clock: Clock
  #untilClock = eventsPerClock

  constructor(sink: EventSink, deadline: number, clock: Clock) {
    this.#sink = sink
    this.#clock = clock
    this.deadline = deadline
  }

  /**
   * Passes on the event at a cursor, together with the run of events after it below a lamport timestamp if the sink
   * takes runs. Returns whether the slice continues.
   */
  take(cursor: StreamCursor, before: number): boolean {
    const { stream, block, index } = cursor
    assert(block !== undefined, 'a cursor in the heap is at an event')
    const end = this.#sink.run === undefined ? index : cursor.advanceRun(before)
    const goesOn =
      end > index + 1 && this.#sink.run !== undefined
        ? this.#sink.run(stream, block, index, end)
        : this.#sink.event(stream, block, index)
    this.#untilClock -= Math.max(1, end - index)
    if (!goesOn || this.#untilClock > 0) return goesOn
    this.#untilClock = eventsPerClock
    return this.#clock.steadyMs() < this.deadline
  }
}
