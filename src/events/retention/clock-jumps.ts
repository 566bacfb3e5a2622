import type { Clock } from '../../runtime/clock.ts'

/** Detects changes of the wall clock, by comparing it with the monotonic clock. */
export class ClockJumps {
  readonly #clock: Clock
  #difference: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#difference = this.#measure()
  }

  /** By how many microseconds the wall clock was set since the last call. */
  sinceLastCall(): number {
    const before = this.#difference
    this.#difference = this.#measure()
    return this.#difference - before
  }

  #measure(): number {
    return this.#clock.now() - this.#clock.steadyMs() * 1000
  }
}
