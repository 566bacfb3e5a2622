import { ShoalError } from '../base/errors.ts'

const microsPerDay = 86_400e6

/** Whether a lamport timestamp is too far in the future: following it would advance the clocks of the whole swarm. */
export function isTooFarAhead(lamport: number, now: number): boolean {
  return lamport > Math.min(Number.MAX_SAFE_INTEGER - 1, now + microsPerDay)
}

/** The logical clock of a node: monotonic, and ahead of every stored event. */
export class LamportClock {
  #next = 0

  /** The lamport timestamp of the next own event. */
  get next(): number {
    return this.#next
  }

  /** Allocates consecutive lamport timestamps for own events. Returns the first. */
  take(count: number): number {
    const first = this.#next
    if (first + count > Number.MAX_SAFE_INTEGER) throw new ShoalError('ERR_IO', 'The logical clock is exhausted.')
    this.#next += count
    return first
  }

  /** Advances past the lamport timestamp of a stored event. */
  follow(lamport: number): void {
    this.#next = Math.max(this.#next, lamport + 1)
  }
}
