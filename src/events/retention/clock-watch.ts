import type { Clock } from '../../runtime/clock.ts'

/** Sees when the wall clock was set, by a clock that cannot be. */
export class ClockWatch {
  readonly #clock: Clock
  #difference: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#difference = this.#measure()
  }

  /** By how many microseconds the wall clock was set since the last look. */
  look(): number {
    const before = this.#difference
    this.#difference = this.#measure()
    return this.#difference - before
  }

  #measure(): number {
    return this.#clock.now() - this.#clock.steadyMs() * 1000
  }
}
