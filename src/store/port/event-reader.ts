import type { EventBlock } from './event-block.ts'
import type { Selection } from './selection.ts'
import type { Snapshot } from './snapshot.ts'
import type { ReadStream } from './streams.ts'

/** Reads the log in the thread that it is called in, without waiting: what queries and subscriptions run on. */
export interface EventReader {
  /** All streams that have events, or had some, in the order of their numbers. */
  streams(): readonly ReadStream[]
  /**
   * The event counts of all streams after the last commit. Whatever reads several streams takes one, and keeps to
   * it.
   */
  snapshot(): Snapshot
  /**
   * A cursor over selected events, up to the newest snapshot. A live one reads up to a given snapshot, in ascending
   * order, and can be extended to later ones.
   */
  cursor(selection: Selection, live?: Snapshot): EventCursor
}

/**
 * Walks over selected events in their order. It works in slices: between two of them it may stay where it is for any
 * time, and events that are removed meanwhile are left out. Deadlines are milliseconds of the steady clock of the
 * reader.
 */
export interface EventCursor {
  /** Bytes that it holds between two slices. */
  readonly heldBytes: number
  /** Whether there may be events left that were not found before the deadline. */
  readonly isOnItsWay: boolean
  /** Begins a slice in which `next` is called. */
  begin(deadline?: number): void
  /** The next event, which stands there until the next call. Nothing at the end, or when the deadline has passed. */
  next(): EventPlace | undefined
  /**
   * Gives events to a sink until it wants no more, the time is over, or there are none left: then the answer is
   * true.
   */
  run(sink: EventSink, deadline?: number): boolean
  /** Goes on to a later snapshot: all streams together, so that their events come in order. */
  extend(snapshot: Snapshot): void
}

/** One event: its stream, and its place in a block. */
export interface EventPlace {
  readonly stream: ReadStream
  readonly block: EventBlock
  readonly index: number
}

/** Takes events; when it answers false it wants no more for now. It looks at a block no longer than it is called. */
export interface EventSink {
  event(stream: ReadStream, block: EventBlock, index: number): boolean
  /**
   * Takes events that follow each other at once: those from one index to before another; removed ones may be among
   * them.
   */
  run?(stream: ReadStream, block: EventBlock, from: number, to: number): boolean
}
