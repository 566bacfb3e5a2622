import { messageOf } from '../errors.ts'
import type { Events } from '../events/index.ts'
import { limits } from '../limits.ts'
import type { Logger } from '../log/index.ts'
import type { Metrics } from '../metrics.ts'
import { Recurring } from '../recurring.ts'
import { type Settings, type SettingsDocument, usable } from '../settings/index.ts'
import { metricsPayload } from './metrics-event.ts'

interface Parts {
  readonly events: Promise<Events>
  readonly settings: Settings
  readonly metrics: Metrics
  readonly log: Logger
}

/** What a node does from time to time, as long as it runs. */
export class Maintenance {
  readonly #retention: Recurring
  readonly #metricsEvents: Recurring
  readonly #endListening: () => void
  #stopped = false

  constructor({ events, settings, metrics, log }: Parts, retentionMs: number = limits.retentionMs) {
    const recurring = (what: string, work: (opened: Events) => Promise<void>): Recurring =>
      new Recurring(
        async () => work(await events),
        (error) => this.#stopped || log.error(`${what} failed, and is tried again later: ${messageOf(error)}`),
      )
    this.#retention = recurring('retention', (opened) => opened.prune())
    this.#retention.every(retentionMs)
    this.#metricsEvents = recurring('publishing metrics', (opened) =>
      opened.system.publish(['metrics'], metricsPayload(metrics, Date.now())),
    )
    this.#metricsEvents.every(metricsMs(settings.document))
    this.#endListening = settings.onChange(({ paths, after }) => {
      if (paths.includes('/swarm/metricsInterval')) this.#metricsEvents.every(metricsMs(after))
    })
  }

  /** Nothing begins after this. */
  stop(): void {
    this.#stopped = true
    this.#endListening()
    for (const recurring of [this.#retention, this.#metricsEvents]) recurring.every(0)
  }
}

function metricsMs(document: SettingsDocument): number {
  return usable(document).settings.swarm.metricsInterval * 1000
}
