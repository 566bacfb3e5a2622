import { limits } from '../base/limits.ts'
import type { Logger } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import type { Counter, Metrics } from '../observability/metrics.ts'
import { Outage } from '../observability/outage.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Timer, Timers } from '../runtime/timers.ts'
import type { DiskNotice, DiskWork } from '../store/index.ts'

interface Parts {
  readonly health: Health
  readonly metrics: Metrics
  readonly log: Logger
  readonly clock: Clock
  readonly timers: Timers
}

/** Disk work by area, with the subjects of log lines and reasons. */
const areas = {
  events: {
    publish: 'storing events',
    receive: 'storing events of other nodes',
    prune: 'removing events beyond the limits of their streams',
    redact: 'removing payloads',
    seal: 'sealing events',
    index: 'making the index of events',
    checkpoint: 'checkpointing the write-ahead log',
    query: 'reading events',
  },
  files: { upload: 'storing files', evict: 'evicting blocks of files', download: 'reading files' },
  blobs: { blob_write: 'storing blobs', blob_read: 'reading blobs' },
} as const satisfies Readonly<Record<string, Readonly<Partial<Record<DiskWork, string>>>>>

type Area = keyof typeof areas

const subjects: Readonly<Record<DiskWork, string>> = { ...areas.events, ...areas.files, ...areas.blobs }

/** Collects disk failures: logs and counts them, and reports a readiness problem. */
export class DiskErrors {
  readonly #health: Health
  readonly #timers: Timers
  readonly #counter: Counter
  readonly #newOutages: () => ReadonlyMap<DiskWork, Outage>
  #outages: ReadonlyMap<DiskWork, Outage>
  readonly #probes = new Map<Area, () => Promise<void>>()
  #timer: Timer | undefined
  #isStopped = false

  constructor({ health, metrics, log, clock, timers }: Parts) {
    this.#health = health
    this.#timers = timers
    this.#counter = metrics.counter('shoal_disk_errors_total', 'Failures of the disk, by what it was used for.', 'work')
    this.#newOutages = () =>
      new Map(Object.entries(subjects).map(([work, subject]) => [work as DiskWork, new Outage(subject, log, clock)]))
    this.#outages = this.#newOutages()
  }

  readonly onNotice = ({ work, refused }: DiskNotice): void => {
    const outage = this.#outages.get(work)
    if (refused === undefined) outage?.succeeded()
    else {
      this.#counter.add(1, work)
      outage?.failed(refused)
    }
    this.#report()
  }

  /**
   * Sets the probe that runs periodically while an area of the disk fails, to detect recovery. A load balancer may keep
   * requests away from a node that is not ready, so that no request would ever detect it.
   */
  setProbe(area: Area, probe: () => Promise<void>): void {
    this.#probes.set(area, probe)
  }

  /** Forgets all ongoing failures: the databases that failed are closed. */
  reset(): void {
    this.#outages = this.#newOutages()
    this.#report()
  }

  stop(): void {
    this.#isStopped = true
    this.#timers.clear(this.#timer)
  }

  #report(): void {
    const details = [...this.#outages].flatMap(([work, { detail }]) =>
      detail === undefined ? [] : [`${subjects[work]} fails: ${detail}`],
    )
    if (details.length > 0) {
      this.#health.report('Disk', details.join('; '))
      if (!this.#isStopped) this.#timer ??= this.#timers.setInterval(() => this.#probe(), limits.diskProbeMs).unref()
    } else {
      this.#health.resolve('Disk')
      this.#timers.clear(this.#timer)
      this.#timer = undefined
    }
  }

  #detail(work: DiskWork): string | undefined {
    return this.#outages.get(work)?.detail
  }

  #probe(): void {
    // The failure of a probe is known already.
    for (const [area, probe] of this.#probes)
      if (Object.keys(areas[area]).some((work) => this.#detail(work as DiskWork) !== undefined)) probe().catch(() => {})
  }
}
