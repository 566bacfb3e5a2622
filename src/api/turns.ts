import { tuning } from '../base/tuning.ts'
import { type Timers, yieldToEventLoop } from '../runtime/timers.ts'

/** The turns of JSON texts that take long to parse, of all clients. */
export class ParseTurns {
  readonly #timers: Timers
  #last: Promise<void> = Promise.resolve()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /**
   * Waits for the turn of a JSON text that takes long to parse: one is parsed per turn of the event loop, so that many that came
   * together do not hold up everything else. A short one has its turn at once.
   */
  async next(bytes: number): Promise<void> {
    if (bytes <= tuning.parsedAtOnceBytes) return
    this.#last = this.#last.then(() => yieldToEventLoop(this.#timers))
    await this.#last
  }
}
