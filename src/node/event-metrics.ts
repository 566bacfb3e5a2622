import { statSync } from 'node:fs'
import { type Counter, durationBuckets, type Histogram, type Metrics } from '../observability/metrics.ts'
import type { Clock } from '../runtime/clock.ts'
import { ReadingMetrics } from './reading-metrics.ts'

/** Buckets for the number of requests per group commit. */
const powersOfTwo = Array.from({ length: 10 }, (_, exponent) => 2 ** exponent)

/** The metrics of events. They outlive a topic: counters go on when the node changes to another one. */
export class EventMetrics {
  readonly published: Counter
  readonly commits: Histogram
  /** Seconds from a publish request to its acknowledgement. */
  readonly publishing: Histogram
  readonly readings: ReadingMetrics
  /** The database of the open topic. */
  file: string | undefined

  constructor(metrics: Metrics, clock: Clock) {
    this.published = metrics.counter('shoal_events_published_total', 'Events published by apps on this node.')
    this.commits = metrics.histogram('shoal_commit_requests', 'Publish requests per group commit.', powersOfTwo)
    const help = 'Seconds from a publish request to its acknowledgement.'
    this.publishing = metrics.histogram('shoal_publish_duration_seconds', help, durationBuckets)
    this.readings = new ReadingMetrics(metrics, clock)
    metrics.gauge('block_store_size', 'Bytes of the event store on disk.', () =>
      this.file === undefined ? undefined : { value: bytesOf(this.file) },
    )
  }
}

/** Includes the write-ahead log, which is checkpointed from time to time. */
function bytesOf(file: string): number {
  return [file, `${file}-wal`].reduce((sum, part) => sum + (statSync(part, { throwIfNoEntry: false })?.size ?? 0), 0)
}
