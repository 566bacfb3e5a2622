import { failure } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Reading } from '../store/index.ts'

/** What is being read: how much of that there can be at the same time has limits. */
export class OpenReadings {
  readonly #readings = new Set<Reading>()

  /** Starts to read, unless too much is being read already. */
  start(read: () => Reading): Reading {
    if (this.#readings.size >= limits.openStreams)
      throw failure('ERR_BAD_REQUEST', { cause: `There are ${limits.openStreams} open streams, which is the limit.` })
    const reading = read()
    this.#readings.add(reading)
    reading.ended.then(() => this.#readings.delete(reading))
    return reading
  }

  /** Ends all of it, and tells those who read. */
  fail(error: Error): void {
    for (const reading of this.#readings) reading.fail(error)
  }
}
