import type { Timer, Timers } from './timers.ts'

interface Outcomes {
  readonly succeeded: () => void
  readonly failed: (error: unknown) => void
}

/** Does something again and again: first after one interval, and never while the time before is still under way. */
export class Recurring {
  readonly #timers: Timers
  readonly #work: () => Promise<void>
  readonly #succeeded: () => void
  readonly #failed: (error: unknown) => void
  #timer: Timer | undefined
  #busy = false

  constructor(timers: Timers, work: () => Promise<void>, { succeeded, failed }: Outcomes) {
    this.#timers = timers
    this.#work = work
    this.#succeeded = succeeded
    this.#failed = failed
  }

  /** Begins an interval of so many milliseconds, whatever was before; 0 is never. */
  every(milliseconds: number): void {
    this.#timers.clear(this.#timer)
    this.#timer = milliseconds > 0 ? this.#timers.setInterval(() => void this.run(), milliseconds).unref() : undefined
  }

  /** Does it now, unless it is under way. */
  async run(): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    try {
      await this.#work()
      this.#succeeded()
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#busy = false
    }
  }
}
