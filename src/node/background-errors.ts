import type { Logger } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Timers } from '../runtime/timers.ts'
import type { BackgroundNotice, BackgroundWork } from '../store/index.ts'
import { Failures } from './failures.ts'

interface Parts {
  readonly health: Health
  readonly metrics: Metrics
  readonly log: Logger
  readonly timers: Timers
}

/** The subjects of log lines and reasons. */
const subjects: Readonly<Record<BackgroundWork, string>> = {
  seal: 'sealing events',
  index: 'making the index of events',
  checkpoint: 'checkpointing the write-ahead log',
  redact: 'scrubbing removed payloads',
  prune: 'removing events beyond the limits of their streams',
  evict: 'evicting blocks of files',
  follow_files: 'following the events of files',
  discovery: 'exchanging addresses of nodes by events',
  keep_files: 'keeping the files that apps ask for',
  fetch_files: 'fetching files of other nodes',
  count_events: 'noting the number of events',
  count_files: 'noting the number of commits of files',
  count_blobs: 'noting the number of changes of blobs',
  blob_read_time: 'noting when blobs were read',
  metrics_event: 'publishing metrics events',
}

/** Reports failing background work of the event store, files, blobs and the node. */
export class BackgroundErrors {
  readonly #failures: Failures<BackgroundWork>

  constructor(parts: Parts) {
    const help = 'Failures of background work, by work.'
    const counter = { name: 'shoal_background_errors_total', help, label: 'work' }
    this.#failures = new Failures({ ...parts, problem: 'Background', counter })
  }

  readonly onNotice = ({ work, error, isDisk = false }: BackgroundNotice): void => {
    if (error === undefined) this.#failures.succeeded(work)
    // Only counted: `DiskErrors` logs disk failures and reports them as a reason.
    else if (isDisk) this.#failures.count(work)
    else this.#failures.failed(work, `${subjects[work]} fails: ${error}`)
  }

  /** Sets how failing work is retried. */
  setRetry(works: readonly BackgroundWork[], retry: () => Promise<void>): void {
    this.#failures.setRetry(works, retry)
  }

  /** Forgets all ongoing failures: the parts that failed are closed. */
  reset(): void {
    this.#failures.reset()
  }

  stop(): void {
    this.#failures.stop()
  }
}
