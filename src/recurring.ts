/** Does something again and again: first after one interval, and never while the time before is still under way. */
export class Recurring {
  readonly #work: () => Promise<void>
  readonly #failed: (error: unknown) => void
  #timer: NodeJS.Timeout | undefined
  #busy = false

  constructor(work: () => Promise<void>, failed: (error: unknown) => void) {
    this.#work = work
    this.#failed = failed
  }

  /** Begins an interval of so many milliseconds, whatever was before; 0 is never. */
  every(milliseconds: number): void {
    clearInterval(this.#timer)
    this.#timer = milliseconds > 0 ? setInterval(() => this.#run(), milliseconds).unref() : undefined
  }

  async #run(): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    try {
      await this.#work()
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#busy = false
    }
  }
}
