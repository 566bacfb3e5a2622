import type { Timer, Timers } from './timers.ts'

interface Outcomes {
  readonly succeeded: () => void
  readonly failed: (error: unknown) => void
}

/** A periodic task that never overlaps itself: a tick is skipped while the task runs. First runs after one interval. */
export class PeriodicTask {
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

  /** Sets the interval and restarts the timer; 0 stops it. */
  every(milliseconds: number): void {
    this.#timers.clear(this.#timer)
    this.#timer = milliseconds > 0 ? this.#timers.setInterval(() => void this.run(), milliseconds).unref() : undefined
  }

  /** Runs the task now, unless it is running. */
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
