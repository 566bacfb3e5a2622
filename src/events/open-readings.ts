import { invalidRequest } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Reading } from '../store/index.ts'

/** The open queries and subscriptions, with a limit on their number. */
export class OpenReadings {
  readonly #readings = new Set<Reading>()

  /** Starts a query or subscription. Throws at the limit. */
  start(read: () => Reading): Reading {
    if (this.#readings.size >= limits.openQueries)
      throw invalidRequest(`There are ${limits.openQueries} open streams, which is the limit.`)
    const reading = read()
    this.#readings.add(reading)
    reading.ended.then(() => this.#readings.delete(reading))
    return reading
  }

  /** Fails all of them with an error. */
  fail(error: Error): void {
    for (const reading of this.#readings) reading.fail(error)
  }
}
