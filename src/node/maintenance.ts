import { type Events, retentionInterval } from '../events/index.ts'
import type { Metrics } from '../observability/metrics.ts'
import { type Clock, nowMs } from '../runtime/clock.ts'
import { PeriodicTask } from '../runtime/periodic-task.ts'
import type { Timers } from '../runtime/timers.ts'
import { clampSettings, type Settings, type SettingsDocument } from '../settings/index.ts'
import { type BackgroundNotice, BackgroundReporter, type BackgroundWork, refusalIn } from '../store/index.ts'
import { metricsPayload } from './metrics-event.ts'

interface Parts {
  readonly events: Events
  readonly settings: Settings
  readonly metrics: Metrics
  readonly clock: Clock
  readonly timers: Timers
  /** Called when background work fails, and when it works again. */
  readonly background: (notice: BackgroundNotice) => void
}

/** The periodic tasks of a node: pruning, and metrics events. */
export class Maintenance {
  readonly #retention: PeriodicTask
  readonly #metricsEvents: PeriodicTask
  readonly #unsubscribe: () => void
  #stopped = false

  constructor({ events, settings, metrics, clock, timers, background }: Parts, retentionMs?: number) {
    const reporter = new BackgroundReporter((notice) => {
      if (!this.#stopped) background(notice)
    })
    const task = (name: BackgroundWork, work: () => Promise<void>): PeriodicTask =>
      new PeriodicTask(timers, work, {
        succeeded: () => reporter.succeeded(name),
        failed: (error) => reporter.failed(name, error, refusalIn(error) !== undefined),
      })
    this.#retention = task('prune', () => events.prune())
    const pruneMs = ({ eventRouting }: SettingsDocument): number =>
      retentionMs ?? retentionInterval(eventRouting.streams)
    this.#retention.every(pruneMs(settings.document))
    // Events may have got old while the topic was closed.
    void this.prune()
    this.#metricsEvents = task('metrics_event', () =>
      events.system.publish(['metrics'], metricsPayload(metrics, nowMs(clock))),
    )
    this.#metricsEvents.every(metricsMs(settings.document))
    this.#unsubscribe = settings.onChange(({ paths, after }) => {
      if (paths.some((path) => path.startsWith('/eventRouting'))) this.#retention.every(pruneMs(after))
      if (!paths.includes('/swarm/metricsInterval')) return
      this.#metricsEvents.every(metricsMs(after))
      // Disabled metrics events no longer count as failing.
      if (metricsMs(after) === 0) reporter.succeeded('metrics_event')
    })
  }

  /** Prunes now: removes events beyond the retention limits of their streams. */
  prune(): Promise<void> {
    return this.#stopped ? Promise.resolve() : this.#retention.run()
  }

  /** Publishes a metrics event now. */
  publishMetrics(): Promise<void> {
    return this.#stopped ? Promise.resolve() : this.#metricsEvents.run()
  }

  /** Stops all timers; no task starts after this. */
  stop(): void {
    this.#stopped = true
    this.#unsubscribe()
    for (const periodic of [this.#retention, this.#metricsEvents]) periodic.every(0)
  }
}

function metricsMs(document: SettingsDocument): number {
  return clampSettings(document).settings.swarm.metricsInterval * 1000
}
