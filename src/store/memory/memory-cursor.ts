import { assert } from '../../base/assert.ts'
import { compareEvents } from '../../replication/index.ts'
import type { Branch, EventCursor, EventPlace, EventSink, Order, Selection, Snapshot } from '../port/index.ts'
import { MemoryBlock } from './memory-block.ts'
import type { MemoryEvent, MemoryStream } from './memory-stream.ts'

/** A selected event by its place: it may be removed before its turn comes. */
interface Found {
  readonly stream: MemoryStream
  readonly offset: number
  readonly lamport: number
}

/** Finds all selected events at once and sorts them. It needs no deadline: a sink is full long before that matters. */
export class MemoryCursor implements EventCursor {
  readonly heldBytes = 0
  readonly isOnItsWay = false
  readonly #streams: readonly MemoryStream[]
  readonly #selection: Selection
  readonly #isLive: boolean
  #snapshot: Snapshot
  #found: Found[] = []
  #at = 0

  constructor(streams: readonly MemoryStream[], selection: Selection, snapshot: Snapshot, isLive: boolean) {
    assert(!isLive || selection.order === 'asc', 'what comes later comes at the end')
    this.#streams = streams
    this.#selection = selection
    this.#isLive = isLive
    this.#snapshot = snapshot
    const { upper } = selection
    for (const stream of streams) {
      const last = snapshot.count(stream.number) - 1
      this.#find(stream, 0, upper === undefined ? last : Math.min(last, upper.get(stream.number) ?? -1))
    }
    this.#sort()
  }

  /** Nothing is kept from one slice to the next. */
  begin(): void {}

  next(): EventPlace | undefined {
    while (this.#at < this.#found.length) {
      const { stream, offset } = this.#found[this.#at++] as Found
      const event = stream.events.get(offset)
      if (event !== undefined) return { stream, block: new MemoryBlock(stream.id, event), index: 0 }
    }
    return undefined
  }

  run(sink: EventSink): boolean {
    for (let place = this.next(); place !== undefined; place = this.next())
      if (!sink.event(place.stream, place.block, place.index)) return this.#at === this.#found.length
    return true
  }

  extend(snapshot: Snapshot): void {
    assert(this.#isLive, 'only a live cursor can be extended')
    for (const number of snapshot.grownSince(this.#snapshot))
      this.#find(this.#streams[number] as MemoryStream, this.#snapshot.count(number), snapshot.count(number) - 1)
    this.#snapshot = snapshot
    this.#sort()
  }

  /** Adds the selected events of a stream from one offset up to another. */
  #find(stream: MemoryStream, from: number, to: number): void {
    const { lower, lamports, anyOf } = this.#selection
    const after = lower?.get(stream.number) ?? -1
    const earliest = lamports?.from ?? 0
    // What comes later comes with greater timestamps, and is looked at one by one.
    const latest = this.#isLive ? Number.POSITIVE_INFINITY : (lamports?.to ?? Number.POSITIVE_INFINITY)
    for (const event of stream.events.values()) {
      const { offset, lamport } = event
      if (offset < from || offset > to || offset <= after || lamport < earliest || lamport > latest) continue
      if (anyOf.some((branch) => holds(branch, stream, event))) this.#found.push({ stream, offset, lamport })
    }
  }

  /** Puts what is left in order, and forgets what was read. */
  #sort(): void {
    this.#found = this.#found.slice(this.#at).sort(comparison[this.#selection.order])
    this.#at = 0
  }
}

function holds({ tags, appId, own }: Branch, stream: MemoryStream, { labels }: MemoryEvent): boolean {
  return (
    (own === undefined || own === stream.own) &&
    (appId === undefined || appId === labels.appId) &&
    tags.every((tag) => labels.tags.includes(tag))
  )
}

const comparison: Record<Order, (a: Found, b: Found) => number> = {
  asc: compareEvents,
  desc: (a, b) => compareEvents(b, a),
  'stream-asc': (a, b) => a.stream.number - b.stream.number || a.offset - b.offset,
}
