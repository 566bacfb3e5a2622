import { assert } from '../../base/assert.ts'
import { compareEvents } from '../../replication/index.ts'
import type { BlockEvent, Branch, EventCursor, EventSink, Order, Selection, Snapshot } from '../port/index.ts'
import { MemoryBlock } from './memory-block.ts'
import type { MemoryEvent, MemoryStream } from './memory-stream.ts'

/** A selected event by stream and offset: it may be removed before it is read. */
interface Found {
  readonly stream: MemoryStream
  readonly offset: number
  readonly lamport: number
}

/** Collects and sorts all selected events at once. It ignores deadlines: the sink is full long before. */
export class MemoryCursor implements EventCursor {
  readonly heldBytes = 0
  readonly isPending = false
  readonly #streams: readonly MemoryStream[]
  readonly #selection: Selection
  readonly #isLive: boolean
  #snapshot: Snapshot
  #found: Found[] = []
  #at = 0

  constructor(streams: readonly MemoryStream[], selection: Selection, snapshot: Snapshot, isLive: boolean) {
    assert(!isLive || selection.order === 'asc', 'a live cursor reads in ascending order')
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

  /** Nothing to do: it has no state per slice. */
  begin(): void {}

  next(): BlockEvent | undefined {
    while (this.#at < this.#found.length) {
      const { stream, offset } = this.#found[this.#at++] as Found
      const event = stream.events.get(offset)
      if (event !== undefined) return { stream, block: blockOf(stream, event), index: 0 }
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

  /** Adds the selected events of a range of offsets. */
  #find(stream: MemoryStream, from: number, to: number): void {
    const { lower, lamports, anyOf } = this.#selection
    const after = lower?.get(stream.number) ?? -1
    const earliest = lamports?.from ?? 0
    // New events have greater lamport timestamps, which the residual predicate of the query checks.
    const latest = this.#isLive ? Number.POSITIVE_INFINITY : (lamports?.to ?? Number.POSITIVE_INFINITY)
    for (let offset = Math.max(from, after + 1, stream.position.pruned); offset <= to; offset++) {
      const event = stream.events.get(offset)
      if (event === undefined || event.lamport < earliest || event.lamport > latest) continue
      const { lamport } = event
      if (anyOf.some((branch) => matches(branch, stream, event))) this.#found.push({ stream, offset, lamport })
    }
  }

  /** Sorts the remaining events, and drops those that were read. */
  #sort(): void {
    this.#found = this.#found.slice(this.#at).sort(comparison[this.#selection.order])
    this.#at = 0
  }
}

/** Several readers read an event, and copy its line. */
const blocks = new WeakMap<MemoryEvent, MemoryBlock>()

function blockOf(stream: MemoryStream, event: MemoryEvent): MemoryBlock {
  const known = blocks.get(event)
  if (known !== undefined) return known
  const block = new MemoryBlock(stream.id, event)
  blocks.set(event, block)
  return block
}

function matches({ tags, appId, own }: Branch, stream: MemoryStream, { labels }: MemoryEvent): boolean {
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
