import { ShoalError } from '../base/errors.ts'

const microsPerDay = 86_400e6

/** Whether a lamport timestamp is too far ahead: a clock that follows it would pull every other clock with it, for good. */
export function isTooFarAhead(lamport: number, now: number): boolean {
  return lamport > Math.min(Number.MAX_SAFE_INTEGER - 1, now + microsPerDay)
}

/** The logical clock of a node: ahead of every event that it has stored. It never goes back. */
export class LamportClock {
  #next = 0

  /** The lamport timestamp of the next own event. */
  get next(): number {
    return this.#next
  }

  /** Takes consecutive lamport timestamps for own events, and returns the first. */
  take(count: number): number {
    const first = this.#next
    if (first + count > Number.MAX_SAFE_INTEGER) throw new ShoalError('ERR_IO', 'The logical clock is at its end.')
    this.#next += count
    return first
  }

  /** Moves ahead of an event that was stored. */
  follow(lamport: number): void {
    this.#next = Math.max(this.#next, lamport + 1)
  }
}
