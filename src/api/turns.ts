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
   * Yields to the event loop before a large JSON text is parsed. One is parsed per iteration of the loop, so that many
   * that arrive together do not block it. Small texts do not wait.
   */
  async next(bytes: number): Promise<void> {
    if (bytes <= tuning.immediateParseBytes) return
    this.#last = this.#last.then(() => yieldToEventLoop(this.#timers))
    await this.#last
  }
}
