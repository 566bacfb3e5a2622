import { type EventReader, type Selection, Snapshot } from '../port/index.ts'
import { MemoryCursor } from './memory-cursor.ts'
import type { MemoryStream } from './memory-stream.ts'

/** The reader of an in-memory store. */
export class MemoryReader implements EventReader {
  readonly #streams: readonly MemoryStream[]
  #snapshot = new Snapshot(0, [])

  /** @param streams the streams of the store, to which the store adds */
  constructor(streams: readonly MemoryStream[]) {
    this.#streams = streams
  }

  streams(): readonly MemoryStream[] {
    return this.#streams
  }

  /** Returns the same snapshot until a stream has grown. */
  snapshot(): Snapshot {
    const last = this.#snapshot
    const counts = this.#streams.map(({ position }) => position.count)
    const isSame = counts.length === last.streams && counts.every((count, number) => count === last.count(number))
    if (!isSame) this.#snapshot = new Snapshot(last.version + 1, counts)
    return this.#snapshot
  }

  cursor(selection: Selection, live?: Snapshot): MemoryCursor {
    return new MemoryCursor(this.#streams, selection, live ?? this.snapshot(), live !== undefined)
  }
}
