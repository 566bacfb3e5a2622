import { failure } from '../errors.ts'
import { limits } from '../limits.ts'
import type { Reading } from '../store/index.ts'

/** What is being read: how much of that there can be at the same time has limits. */
export class OpenReadings {
  readonly #readings = new Set<Reading>()
  #queriesLength = 0

  /** Starts to read for a query, unless too much is being read already. */
  start(query: string, read: () => Reading): Reading {
    if (this.#readings.size >= limits.openStreams)
      throw failure('ERR_BAD_REQUEST', { cause: `There are ${limits.openStreams} open streams, which is the limit.` })
    if (this.#queriesLength + query.length > limits.openQueriesLength)
      throw failure('ERR_BAD_REQUEST', {
        cause: `The queries of all open streams would have more than ${limits.openQueriesLength} characters, which is the limit.`,
      })
    const reading = read()
    this.#readings.add(reading)
    this.#queriesLength += query.length
    reading.ended.then(() => {
      this.#readings.delete(reading)
      this.#queriesLength -= query.length
    })
    return reading
  }

  /** Ends all of it, and tells those who read. */
  fail(error: Error): void {
    for (const reading of this.#readings) reading.fail(error)
  }
}
