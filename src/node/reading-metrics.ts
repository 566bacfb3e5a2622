import type { Reading } from '../events/index.ts'
import type { Histogram, Metrics } from '../observability/metrics.ts'
import type { Clock } from '../runtime/clock.ts'

/** Histogram buckets in seconds, from an index lookup to a full scan. */
const durations = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Metrics of reads: open subscriptions, and the duration of queries. */
export class ReadingMetrics {
  readonly #clock: Clock
  readonly #durations: Histogram
  #subscriptions = 0
  #queries = 0

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock
    const help = 'Duration of queries, including the time that clients take to read the response.'
    this.#durations = metrics.histogram('shoal_query_duration_seconds', help, durations)
    metrics.gauge('shoal_subscriptions', 'Open subscriptions.', () => ({ value: this.#subscriptions }))
    metrics.gauge('shoal_queries', 'Running queries.', () => ({ value: this.#queries }))
  }

  /** Measures a query or subscription; refused ones do not count. */
  measured(job: string, reading: Reading): Reading {
    // A validation is neither a query nor a subscription.
    if (job === 'validate') return reading
    const started = this.#clock.steadyMs()
    const count = job === 'query' ? () => this.#queried(reading, started) : () => this.#subscribed(reading)
    reading.started.then(count, () => {})
    return reading
  }

  async #queried({ ended }: Reading, started: number): Promise<void> {
    this.#queries++
    await ended
    this.#queries--
    this.#durations.observe((this.#clock.steadyMs() - started) / 1000)
  }

  async #subscribed({ ended }: Reading): Promise<void> {
    this.#subscriptions++
    await ended
    this.#subscriptions--
  }
}
