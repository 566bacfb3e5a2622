import { tuning } from '../base/tuning.ts'
import type { Files } from '../files/index.ts'
import { durationBuckets, type Metrics } from '../observability/metrics.ts'
import type { Clock } from '../runtime/clock.ts'

/** Metrics of the blocks of files, with the names of the reference. They outlive a topic. */
export class BlockMetrics {
  readonly #clock: Clock
  /** By type. */
  readonly #calls = new Map<string, number>()
  readonly #histogram: ReturnType<Metrics['histograms']>
  #usage: { readonly blocks: number; readonly bytes: number } | undefined
  #countedAt = Number.NEGATIVE_INFINITY
  #files: Pick<Files, 'usage'> | undefined

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock
    const help = 'Seconds that calls to the store of blocks of files took, by type.'
    this.#histogram = metrics.histograms('block_store_query_duration', help, durationBuckets, 'type')
    metrics.counted('block_store_queries_total', 'Calls to the store of blocks of files, by type.', () => {
      return [...this.#calls].map(([type, value]) => ({ labels: { type }, value }))
    })
    metrics.gauge('block_store_block_count', 'Blocks of files, as they were counted last.', () =>
      this.#sample('blocks'),
    )
    metrics.gauge('shoal_files_bytes', 'Bytes of blocks of files, as they were counted last.', () =>
      this.#sample('bytes'),
    )
  }

  /** The files of the open topic, whose blocks are counted. */
  set files(files: Pick<Files, 'usage'> | undefined) {
    this.#files = files
  }

  readonly measure = (call: string): (() => void) => {
    const start = this.#clock.steadyMs()
    this.#calls.set(call, (this.#calls.get(call) ?? 0) + 1)
    return () => this.#histogram(call).observe((this.#clock.steadyMs() - start) / 1000)
  }

  /** The last count. A newer one is begun for the next collection. */
  #sample(of: 'blocks' | 'bytes'): { readonly value: number } | undefined {
    const now = this.#clock.steadyMs()
    if (this.#files !== undefined && now - this.#countedAt >= tuning.blockCountMs) {
      this.#countedAt = now
      // A failure of the files thread is reported by the thread itself.
      this.#files.usage().then(
        (usage) => {
          this.#usage = usage
        },
        () => {},
      )
    }
    return this.#usage === undefined ? undefined : { value: this.#usage[of] }
  }
}
