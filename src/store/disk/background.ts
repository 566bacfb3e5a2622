import { messageOf, ShoalError } from '../../base/errors.ts'

/** Work that no caller waits for: a label of the metric of background errors. */
export type BackgroundWork =
  | 'seal'
  | 'index'
  | 'checkpoint'
  | 'redact'
  | 'prune'
  | 'evict'
  | 'follow_files'
  | 'discovery'
  | 'keep_files'
  | 'fetch_files'
  | 'count_events'
  | 'count_files'
  | 'count_blobs'
  | 'blob_read_time'
  | 'metrics_event'

/** Background work has failed, or, without an error, works again. */
export interface BackgroundNotice {
  readonly work: BackgroundWork
  readonly error?: string
  /** Whether the log and `/readyz` have the failure already, as one of the disk. */
  readonly isDisk?: boolean
}

/** Notifies of each failure of background work, and of the first success after one. */
export class BackgroundReporter {
  readonly #notify: (notice: BackgroundNotice) => void
  readonly #failing = new Set<BackgroundWork>()

  constructor(notify: (notice: BackgroundNotice) => void = () => {}) {
    this.#notify = notify
  }

  /** `where` says in which part of the work it was. */
  failed(work: BackgroundWork, error: unknown, isDisk = false, where?: string): void {
    // Work that ends because the node stops has not failed.
    if (error instanceof ShoalError && error.code === 'ERR_SHUTTING_DOWN') return
    this.#failing.add(work)
    const message = messageOf(error)
    this.#notify({ work, error: where === undefined ? message : `${where}: ${message}`, isDisk })
  }

  succeeded(work: BackgroundWork): void {
    if (this.#failing.delete(work)) this.#notify({ work })
  }
}
