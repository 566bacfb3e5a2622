import type { Clock } from '../runtime/clock.ts'

/** A rate limit for log lines: one message per interval, with the number of occurrences since the last one. */
export class RateLimit {
  readonly #intervalMs: number
  readonly #clock: Clock
  #count = 0
  #last = Number.NEGATIVE_INFINITY

  constructor(intervalMs: number, clock: Clock) {
    this.#intervalMs = intervalMs
    this.#clock = clock
  }

  /** Counts an occurrence, and calls `write` at most once per interval. */
  occurred(write: (count: number) => void): void {
    this.#count++
    if (this.#clock.steadyMs() - this.#last < this.#intervalMs) return
    this.#last = this.#clock.steadyMs()
    const count = this.#count
    this.#count = 0
    write(count)
  }
}
