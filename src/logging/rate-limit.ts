/** A rate limit for log lines: one message per interval, with the number of occurrences since the last one. */
export class RateLimit {
  readonly #intervalMs: number
  readonly #now: () => number
  #count = 0
  #last = Number.NEGATIVE_INFINITY

  constructor(intervalMs: number, now: () => number = () => performance.now()) {
    this.#intervalMs = intervalMs
    this.#now = now
  }

  /** Counts an occurrence, and calls `write` at most once per interval. */
  occurred(write: (count: number) => void): void {
    this.#count++
    if (this.#now() - this.#last < this.#intervalMs) return
    this.#last = this.#now()
    const count = this.#count
    this.#count = 0
    write(count)
  }
}
