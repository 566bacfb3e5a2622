import type { StreamCounts } from '../../../src/store/sqlite/read/shared-counts.ts'

/** The counts after consecutive commits, each of which changes some of eight streams: the same in every thread. */
export class Commits {
  readonly counts: number[] = []
  /** Number of changed counts so far. */
  changes = 0
  #random = 1

  /** The streams changed by the next commit. */
  next(): StreamCounts[] {
    this.#random = (Math.imul(this.#random, 1_103_515_245) + 12_345) >>> 0
    const numbers = [...Array(8).keys()].filter((stream) => ((this.#random >>> (8 + stream)) & 1) === 1)
    this.changes += numbers.length
    return numbers.map((number) => {
      // Stream numbers have no gaps.
      while (this.counts.length <= number) this.counts.push(0)
      const count = (this.counts[number] as number) + 1 + (this.#random >>> 28)
      this.counts[number] = count
      return { number, count, pruned: 0, sealed: 0 }
    })
  }
}
