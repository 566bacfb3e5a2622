import type { Reading } from '../events/index.ts'
import type { Histogram, Metrics } from '../observability/metrics.ts'
import type { Clock } from '../runtime/clock.ts'

/** From a lookup to the reading of everything, in seconds. */
const durations = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** How many subscriptions there are, and how long queries take. */
export class ReadingMetrics {
  readonly #clock: Clock
  readonly #durations: Histogram
  #subscriptions = 0

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock
    const help = 'How long answers to queries took, the time that clients need to take them included.'
    this.#durations = metrics.histogram('shoal_query_duration_seconds', help, durations)
    metrics.gauge('shoal_subscriptions', 'Subscriptions that are open.', () => ({ value: this.#subscriptions }))
  }

  /** The same reading; what was refused does not count. */
  measured(job: string, reading: Reading): Reading {
    // A query that is only looked at is neither.
    if (job === 'validate') return reading
    const begun = this.#clock.steadyMs()
    const count = job === 'query' ? () => this.#queried(reading, begun) : () => this.#subscribed(reading)
    reading.started.then(count, () => {})
    return reading
  }

  async #queried({ ended }: Reading, begun: number): Promise<void> {
    await ended
    this.#durations.observe((this.#clock.steadyMs() - begun) / 1000)
  }

  async #subscribed({ ended }: Reading): Promise<void> {
    this.#subscriptions++
    await ended
    this.#subscriptions--
  }
}
