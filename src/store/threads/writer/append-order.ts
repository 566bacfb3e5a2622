import { assert } from '../../../base/assert.ts'
import type { Appended } from '../../port/index.ts'

/**
 * Asserts in the main thread that append results arrive in commit order. Offsets never overlap, but may have gaps: after
 * an I/O error during the commit, events of a failed append may still be on disk.
 */
export class AppendOrder {
  /** The lamport timestamp after the last acknowledged event. */
  #clock = 0
  /** The offset after the last acknowledged event of each own stream. */
  readonly #ends = new Map<number, number>()

  check({ lamport, runs }: Appended): void {
    assert(lamport >= this.#clock, 'lamport timestamps increase from result to result')
    let events = 0
    for (const { stream, offset, count } of runs) {
      assert(count > 0 && offset >= (this.#ends.get(stream) ?? 0), 'offsets of a stream increase from result to result')
      this.#ends.set(stream, offset + count)
      events += count
    }
    this.#clock = lamport + events
  }
}
