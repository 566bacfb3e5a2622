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
import { branchSetsOf } from '../index/branch-set.ts'
import type { BlockReader } from './block-reader.ts'
import { StreamCursor } from './stream-cursor.ts'

/** How many streams are moved to their first events between two looks at the clock. */
const streamsPerClock = 32

/**
 * Reads selected events of all streams in the total order: by lamport timestamp, then by stream. It works in slices and
 * keeps nothing of the database between them.
 */
export class LogCursor implements EventCursor {
  readonly #reader: BlockReader
  readonly #descending: boolean
  readonly #byStream: boolean
  /** The cursors that have events left, as a heap with the next event on top. */
  readonly #heap: StreamCursor[] = []
  /** Cursors that have not been moved to their first event. */
  #fresh: StreamCursor[] = []
  /** By stream the cursors of those who wait for more. */
  readonly #live: Map<StreamNumber, StreamCursor> | undefined
  readonly #selection: Selection
  /** What is read goes up to this one. */
  #snapshot: Snapshot
  /** How often something had been removed when the cursors went to where they stand. */
  #removals: number
  /** Cursors of streams that only have events of some lamport timestamps, before those were looked for. */
  readonly #wide = new Set<StreamCursor>()
  /** The event on top was taken by `next`. */
  #taken = false
  /** The cursor on top is on its way to its next event. */
  #moving = false
  /** When to stop looking for events in this slice. */
  #deadline = Number.POSITIVE_INFINITY

  /** A live cursor reads up to a given snapshot, in ascending order, and can be extended to later ones. */
  constructor(reader: BlockReader, selection: Selection, { live }: { readonly live?: Snapshot | undefined } = {}) {
    assert(live === undefined || selection.order === 'asc', 'what comes later comes at the end')
    this.#reader = reader
    this.#selection = selection
    this.#live = live && new Map()
    this.#descending = selection.order === 'desc'
    this.#byStream = selection.order === 'stream-asc'
    this.#removals = reader.refresh()
    this.#snapshot = live ?? reader.snapshot()
    const { upper } = selection
    // Streams that are newer than the snapshot are left out.
    for (const stream of reader.streams().slice(0, this.#snapshot.streams)) {
      const last = this.#snapshot.count(stream.number) - 1
      this.#add(stream, upper === undefined ? last : Math.min(last, upper.get(stream.number) ?? -1))
    }
  }

  /** Bytes of the blocks that it stands in. */
  get heldBytes(): number {
    let bytes = 0
    for (const cursor of this.#heap) bytes += cursor.heldBytes
    return bytes
  }

  /** Goes on to a later snapshot, whatever the upper bound was: all streams together, so that their events come in order. */
  extend(snapshot: Snapshot): void {
    assert(this.#live !== undefined, 'only a live cursor can be extended')
    const streams = this.#reader.streams()
    for (const number of snapshot.grownSince(this.#snapshot)) {
      const last = snapshot.count(number) - 1
      const known = this.#live.get(number)
      if (known === undefined) this.#add(streams[number] as ReadStream, last)
      else if (known.extend(last)) this.#fresh.push(known)
    }
    this.#snapshot = snapshot
  }

  /** Reads a stream from the lower bound on, up to an offset. */
  #add(stream: ReadStream, last: number): void {
    const sets = branchSetsOf(this.#selection)
    const branches = stream.own ? sets.own : sets.others
    const lower = this.#selection.lower?.get(stream.number) ?? -1
    const first = Math.max(this.#reader.counts.pruned(stream.number), lower + 1)
    if (branches.isEmpty || (this.#live === undefined && first > last)) return
    const cursor = new StreamCursor(this.#reader, stream, branches, first, last, this.#descending ? -1 : 1)
    this.#live?.set(stream.number, cursor)
    if (this.#selection.lamports !== undefined) this.#wide.add(cursor)
    this.#fresh.push(cursor)
  }

  /** Gives events to the sink until it wants no more, the time is over, or there are none left: then the answer is true. */
  run(sink: EventSink, deadline = Number.POSITIVE_INFINITY): boolean {
    this.begin(deadline)
    const slice = new Slice(sink, deadline, this.#reader.clock)
    while (this.#move() && this.#heap.length > 0) {
      const goesOn = this.#drain(this.#heap[0] as StreamCursor, this.#second(), slice)
      if (!this.#moving) this.#sift()
      if (!goesOn) break
    }
    return !this.isPending && this.#heap.length === 0
  }

  #narrow(cursor: StreamCursor): void {
    cursor.narrow((first, last) => this.#inLamports(cursor.stream, first, last))
  }

  /** Lamport timestamps rise with offsets, so bounds of the one are bounds of the other. */
  #inLamports({ number }: ReadStream, first: number, last: number): [number, number] {
    const { lamports } = this.#selection
    if (lamports === undefined || first > last) return [first, last]
    const from = lamports.from <= 0 ? first : this.#reader.offsetAt(number, lamports.from, first, last)
    // What comes later comes with greater ones, and is looked at one by one.
    if (this.#live !== undefined || lamports.to === Number.POSITIVE_INFINITY) return [from, last]
    return [from, this.#reader.offsetAt(number, lamports.to + 1, from, last) - 1]
  }

  /**
   * Goes to the next event: the cursor of its stream stands there until the next call. To be used between `begin` and
   * the end of a slice. Nothing at the end, and when the deadline has passed: then the cursor is on its way.
   */
  next(): BlockEvent | undefined {
    if (!this.#move()) return undefined
    const top = this.#heap[0]
    this.#taken = top !== undefined
    // All cursors of the heap stand at an event, so they have a block.
    return top as BlockEvent | undefined
  }

  /** Whether there may be events left that were not found before the deadline. */
  get isPending(): boolean {
    return this.#moving || this.#fresh.length > 0
  }

  /** Begins a slice: moves all cursors away from events that were removed since the last one. */
  begin(deadline = Number.POSITIVE_INFINITY): void {
    this.#deadline = deadline
    const removals = this.#reader.refresh()
    if (removals === this.#removals) return
    this.#removals = removals
    this.#leave()
    const standing = this.#heap.splice(0)
    if (this.#moving) this.#fresh.push(standing.shift() as StreamCursor)
    this.#moving = false
    for (const cursor of this.#fresh) cursor.forgetBlock()
    for (const cursor of standing) {
      if (cursor.standAgain()) this.#push(cursor)
      else this.#fresh.push(cursor)
    }
  }

  /** Moves cursors on that do not stand at an event. Answers whether all of them do now, or are at their ends. */
  #move(): boolean {
    this.#leave()
    if (this.#moving) {
      if (this.#heap[0]?.next(this.#deadline) === 'later') return false
      this.#moving = false
      this.#sift()
    }
    for (let moved = 1; this.#fresh.length > 0; moved++) {
      const cursor = this.#fresh.at(-1) as StreamCursor
      if (this.#wide.delete(cursor)) this.#narrow(cursor)
      const found = cursor.next(this.#deadline)
      if (found === 'later') return false
      this.#fresh.pop()
      if (found) this.#push(cursor)
      if (moved % streamsPerClock === 0 && this.#reader.clock.steadyMs() >= this.#deadline) return false
    }
    return true
  }

  /** Takes events of one stream as long as no other stream is next. Answers whether the slice goes on. */
  #drain(cursor: StreamCursor, second: StreamCursor | undefined, slice: Slice): boolean {
    const before = second === undefined || this.#byStream ? Number.POSITIVE_INFINITY : second.lamport
    do {
      const { block } = cursor
      const goesOn = slice.take(cursor, before)
      const found = cursor.next(slice.deadline)
      if (cursor.block !== block) block?.leave?.()
      this.#moving = found === 'later'
      if (found !== true || !goesOn) return goesOn
    } while (second === undefined || this.#isBefore(cursor, second))
    return true
  }

  /** Leaves an event that was taken. */
  #leave(): void {
    if (this.#taken) this.#moving = true
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

  /** Puts the cursor on top in its place, or takes it out when it is at its end. */
  #sift(): void {
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

/** How many events pass between two looks at the clock. */
const clockEvery = 64

/** What one slice may still do. */
class Slice {
  readonly deadline: number
  readonly #sink: EventSink
  readonly #clock: Clock
  #untilClock = clockEvery

  constructor(sink: EventSink, deadline: number, clock: Clock) {
    this.#sink = sink
    this.#clock = clock
    this.deadline = deadline
  }

  /**
   * Takes the event that a cursor stands at, and with it those after it that have lamport timestamps below another, if
   * they can be taken at once. Answers whether another one may follow.
   */
  take(cursor: StreamCursor, before: number): boolean {
    const { stream, block, index } = cursor
    assert(block !== undefined, 'a cursor with events stands at one')
    const end = this.#sink.run === undefined ? index : cursor.passRun(before)
    const goesOn =
      end > index + 1 && this.#sink.run !== undefined
        ? this.#sink.run(stream, block, index, end)
        : this.#sink.event(stream, block, index)
    this.#untilClock -= Math.max(1, end - index)
    if (!goesOn || this.#untilClock > 0) return goesOn
    this.#untilClock = clockEvery
    return this.#clock.steadyMs() < this.deadline
  }
}
