import type { StreamNumber } from './streams.ts'

/** The event counts of all streams after one commit: it holds all events of a commit, or none. It never changes. */
export class Snapshot {
  /** How many changes of counts the writer had published by then. Snapshots of equal positions have equal counts. */
  readonly position: number
  readonly #counts: readonly number[]
  /** The last answer of `grownSince`: most subscriptions ask for the same one. */
  #growth: { readonly since: number; readonly streams: readonly StreamNumber[] } | undefined

  constructor(position: number, counts: readonly number[]) {
    this.position = position
    this.#counts = counts
  }

  /** How many streams it has: their numbers are 0, 1, 2, … */
  get streams(): number {
    return this.#counts.length
  }

  /** A stream that was new after it has none. */
  count(stream: StreamNumber): number {
    return this.#counts[stream] ?? 0
  }

  /** A copy that belongs to the caller. */
  counts(): number[] {
    return this.#counts.slice()
  }

  /** The streams that have more events than they had in an earlier snapshot. */
  grownSince(earlier: Snapshot): readonly StreamNumber[] {
    if (earlier.position === this.position) return []
    if (this.#growth?.since !== earlier.position) {
      const streams: StreamNumber[] = []
      for (let stream = 0; stream < this.streams; stream++)
        if (this.count(stream) > earlier.count(stream)) streams.push(stream)
      this.#growth = { since: earlier.position, streams }
    }
    return this.#growth.streams
  }
}
