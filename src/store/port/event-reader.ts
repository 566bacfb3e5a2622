import type { EventBlock } from './event-block.ts'
import type { Selection } from './selection.ts'
import type { Snapshot } from './snapshot.ts'
import type { ReadStream } from './streams.ts'

/** Synchronous access to the log, in the calling thread: for queries and subscriptions. */
export interface EventReader {
  /** All streams that have, or had, events; sorted by number. */
  streams(): readonly ReadStream[]
  /** The event counts of all streams after the last commit. Readers of several streams use one snapshot throughout. */
  snapshot(): Snapshot
  /**
   * Opens a cursor over selected events, up to the newest snapshot. A live one reads up to a given snapshot, in
   * ascending order, and can be extended to later ones.
   */
  cursor(selection: Selection, live?: Snapshot): EventCursor
}

/**
 * Iterates over selected events in order, in slices. It may pause between two slices for any time, and skips events
 * that were removed in between. Deadlines are milliseconds of the monotonic clock.
 */
export interface EventCursor {
  /** Bytes that it holds between two slices. */
  readonly heldBytes: number
  /** Whether the deadline passed before the next event was found. */
  readonly isPending: boolean
  /** Begins a slice, in which `next` is called. */
  begin(deadline?: number): void
  /** The next event, valid until the next call. Undefined at the end, or at the deadline. */
  next(): BlockEvent | undefined
  /** Passes events to a sink, until it is full or the deadline has passed. Returns true at the end. */
  run(sink: EventSink, deadline?: number): boolean
  /** Extends it to a later snapshot: all streams together, so that events stay in order. */
  extend(snapshot: Snapshot): void
}

/** An event, by its index in a block. */
export interface BlockEvent {
  readonly stream: ReadStream
  readonly block: EventBlock
  readonly index: number
}

/** Consumes events. Returns false when it is full. A block is valid only during the call. */
export interface EventSink {
  event(stream: ReadStream, block: EventBlock, index: number): boolean
  /** Consumes a run of events of a block, from `from` to before `to`, which may include removed ones. */
  run?(stream: ReadStream, block: EventBlock, from: number, to: number): boolean
}
