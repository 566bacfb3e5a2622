import type { StreamNumber } from './streams.ts'

/** The event counts of all streams after a commit. Immutable; it includes all events of a commit or none. */
export class Snapshot {
  /** Version number: the number of count changes so far. Snapshots of equal version have equal counts. */
  readonly version: number
  readonly #counts: readonly number[]
  /** Cache of `grownSince`: most subscriptions ask for the same snapshot. */
  #growth: { readonly since: number; readonly streams: readonly StreamNumber[] } | undefined

  constructor(version: number, counts: readonly number[]) {
    this.version = version
    this.#counts = counts
  }

  /** The number of streams; they are numbered 0, 1, 2, … */
  get streams(): number {
    return this.#counts.length
  }

  /** Event count of a stream; 0 for streams created later. */
  count(stream: StreamNumber): number {
    return this.#counts[stream] ?? 0
  }

  /** A copy of all counts. */
  counts(): number[] {
    return this.#counts.slice()
  }

  /** The streams with more events than in an earlier snapshot. */
  grownSince(earlier: Snapshot): readonly StreamNumber[] {
    if (earlier.version === this.version) return []
    if (this.#growth?.since !== earlier.version) {
      const streams: StreamNumber[] = []
      for (let stream = 0; stream < this.streams; stream++)
        if (this.count(stream) > earlier.count(stream)) streams.push(stream)
      this.#growth = { since: earlier.version, streams }
    }
    return this.#growth.streams
  }
}
