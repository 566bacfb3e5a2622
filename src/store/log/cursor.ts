import { assert } from '../../assert.ts'
import type { Block } from './block.ts'
import type { LogReader, ReadStream } from './reader.ts'
import type { StreamNumber } from './row-key.ts'
import { branchesFor, type Selection } from './selection.ts'
import { StreamCursor } from './stream-cursor.ts'

/** Takes events; when it answers false it wants no more for now. It looks at a block no longer than it is called. */
export interface EventSink {
  event(stream: ReadStream, block: Block, index: number): boolean
  /** Takes events that follow each other at once: those from one index to before another; removed ones may be among them. */
  run?(stream: ReadStream, block: Block, from: number, to: number): boolean
}

/**
 * Reads selected events of all streams in the total order: by lamport timestamp, then by stream. It works in slices and
 * keeps nothing of the database between them.
 */
export class LogCursor {
  readonly #reader: LogReader
  readonly #descending: boolean
  readonly #byStream: boolean
  /** The cursors that have events left, as a heap with the next event on top. */
  readonly #heap: StreamCursor[] = []
  /** Cursors that have not been moved to their first event. */
  #fresh: StreamCursor[] = []
  /** By stream the cursors of those who wait for more. */
  readonly #live: Map<StreamNumber, StreamCursor> | undefined
  readonly #selection: Selection
  /** How often something had been removed when the cursors went to where they stand. */
  #removals: number
  /** The event on top was taken by `next`. */
  #taken = false

  /** One that is live can be extended to what comes later; it goes upwards. */
  constructor(reader: LogReader, selection: Selection, { live = false } = {}) {
    assert(!live || selection.order === 'asc', 'what comes later comes at the end')
    this.#reader = reader
    this.#selection = selection
    this.#live = live ? new Map() : undefined
    this.#descending = selection.order === 'desc'
    this.#byStream = selection.order === 'stream-asc'
    this.#removals = reader.refresh()
    const { upper } = selection
    for (const stream of reader.streams()) {
      const last = reader.counts.count(stream.number) - 1
      this.#add(stream, upper === undefined ? last : Math.min(last, upper.get(stream.number) ?? -1))
    }
  }

  /** Goes on to the events that have come to these streams, whatever the upper bound was. */
  extend(grown: Iterable<StreamNumber>): void {
    assert(this.#live !== undefined, 'only a live cursor can be extended')
    const streams = this.#reader.streams()
    for (const number of grown) {
      const last = this.#reader.counts.count(number) - 1
      const known = this.#live.get(number)
      if (known === undefined) this.#add(streams[number] as ReadStream, last)
      else if (known.extend(last)) this.#fresh.push(known)
    }
  }

  /** Reads a stream from the lower bound on, up to an offset. */
  #add(stream: ReadStream, last: number): void {
    const branches = branchesFor(this.#selection, stream.own)
    const lower = this.#selection.lower?.get(stream.number) ?? -1
    const first = Math.max(this.#reader.counts.pruned(stream.number), lower + 1)
    if (branches.length === 0 || (this.#live === undefined && first > last)) return
    const step = this.#descending ? -1 : 1
    const cursor = new StreamCursor(this.#reader, stream, branches, ...this.#inLamports(stream, first, last), step)
    this.#live?.set(stream.number, cursor)
    this.#fresh.push(cursor)
  }

  /** Gives events to the sink until it wants no more, the time is over, or there are none left: then the answer is true. */
  run(sink: EventSink, deadline = Number.POSITIVE_INFINITY): boolean {
    this.begin()
    const slice = new Slice(sink, deadline)
    while (this.#heap.length > 0) {
      const goesOn = this.#drain(this.#heap[0] as StreamCursor, this.#second(), slice)
      this.#sift()
      if (!goesOn) return this.#heap.length === 0
    }
    return true
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
   * the end of a slice.
   */
  next(): StreamCursor | undefined {
    this.#pass()
    const top = this.#heap[0]
    this.#taken = top !== undefined
    return top
  }

  /** Begins a slice: moves new cursors to their first events, and all of them away from events that were removed since. */
  begin(): void {
    this.#pass()
    const moved = this.#fresh
    this.#fresh = []
    for (const cursor of moved) if (cursor.next()) this.#push(cursor)
    const removals = this.#reader.refresh()
    if (removals === this.#removals) return
    this.#removals = removals
    for (const cursor of this.#heap.splice(0)) if (cursor.standAgain()) this.#push(cursor)
  }

  /** Takes events of one stream as long as no other stream is next. Answers whether the slice goes on. */
  #drain(cursor: StreamCursor, second: StreamCursor | undefined, slice: Slice): boolean {
    const before = second === undefined || this.#byStream ? Number.POSITIVE_INFINITY : second.lamport
    do {
      const { block } = cursor
      const goesOn = slice.take(cursor, before)
      const isLast = !cursor.next()
      if (cursor.block !== block) block?.leave?.()
      if (isLast || !goesOn) return goesOn
    } while (second === undefined || this.#isBefore(cursor, second))
    return true
  }

  /** Leaves an event that was taken. */
  #pass(): void {
    if (!this.#taken) return
    this.#taken = false
    this.#heap[0]?.next()
    this.#sift()
  }

  #isBefore(a: StreamCursor, b: StreamCursor): boolean {
    if (this.#byStream) return a.stream.number < b.stream.number
    if (a.lamport !== b.lamport) return this.#descending ? a.lamport > b.lamport : a.lamport < b.lamport
    return this.#descending ? compareStreams(a.stream, b.stream) > 0 : compareStreams(a.stream, b.stream) < 0
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
  readonly #sink: EventSink
  readonly #deadline: number
  #untilClock = clockEvery

  constructor(sink: EventSink, deadline: number) {
    this.#sink = sink
    this.#deadline = deadline
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
    return performance.now() < this.#deadline
  }
}

/** Streams are ordered by the bytes of their node, then by their number. */
export function compareStreams(a: ReadStream, b: ReadStream): number {
  return Buffer.compare(a.key.node, b.key.node) || a.key.number - b.key.number
}
