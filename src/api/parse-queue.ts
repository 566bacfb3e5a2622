import { tuning } from '../base/tuning.ts'
import { type Timers, yieldToEventLoop } from '../runtime/timers.ts'

/** Schedules the parsing of large JSON texts of all clients. */
export class ParseQueue {
  readonly #timers: Timers
  #last: Promise<void> = Promise.resolve()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /**
   * Yields to the event loop before a large JSON text is parsed. One is parsed per iteration of the loop, so that many
   * concurrent ones do not block it. Small texts do not wait.
   */
  async wait(bytes: number): Promise<void> {
    if (bytes <= tuning.immediateParseBytes) return
    this.#last = this.#last.then(() => yieldToEventLoop(this.#timers))
    await this.#last
  }
}
