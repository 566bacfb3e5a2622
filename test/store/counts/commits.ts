import type { StreamCounts } from '../../../src/store/sqlite/read/shared-counts.ts'

/** Counts after one commit after the other: each changes some of eight streams, the same ones in every thread. */
export class Commits {
  readonly counts: number[] = []
  /** How many counts have changed so far. */
  changes = 0
  #random = 1

  /** The streams that the next commit changes. */
  next(): StreamCounts[] {
    this.#random = (Math.imul(this.#random, 1_103_515_245) + 12_345) >>> 0
    const numbers = [...Array(8).keys()].filter((stream) => ((this.#random >>> (8 + stream)) & 1) === 1)
    this.changes += numbers.length
    return numbers.map((number) => {
      // Streams are numbered without gaps.
      while (this.counts.length <= number) this.counts.push(0)
      const count = (this.counts[number] as number) + 1 + (this.#random >>> 28)
      this.counts[number] = count
      return { number, count, pruned: 0, sealed: 0 }
    })
  }
}
