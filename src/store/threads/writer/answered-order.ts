import { assert } from '../../../base/assert.ts'
import type { Appended } from '../../port/index.ts'

/**
 * What must hold for the answers to appends, seen from the thread that has asked: they come in the order of the commits. A
 * commit that was reported as failed may be on the disk nevertheless, so there may be gaps between answers, but never overlaps.
 */
export class AnsweredOrder {
  /** The lamport timestamp after the last event that was answered. */
  #clock = 0
  /** The offset after the last event of each own stream that was answered. */
  readonly #ends = new Map<number, number>()

  check({ lamport, runs }: Appended): void {
    assert(lamport >= this.#clock, 'lamport timestamps rise from answer to answer')
    let events = 0
    for (const { stream, offset, count } of runs) {
      assert(count > 0 && offset >= (this.#ends.get(stream) ?? 0), 'offsets of a stream rise from answer to answer')
      this.#ends.set(stream, offset + count)
      events += count
    }
    this.#clock = lamport + events
  }
}
