import { refusalIn } from './disk-io-error.ts'

/** What the disk is used for: a label of the metric of disk errors. */
export type DiskWork =
  | 'publish'
  | 'receive'
  | 'prune'
  | 'redact'
  | 'seal'
  | 'index'
  | 'checkpoint'
  | 'query'
  | 'upload'
  | 'evict'
  | 'download'
  | 'blob_write'
  | 'blob_read'

/** A disk operation has failed, or, without `refused`, works again. */
export interface DiskNotice {
  readonly work: DiskWork
  readonly refused?: string
}

/** Notifies of each disk failure, and of the first success after one. */
export class DiskReporter {
  readonly #notify: (notice: DiskNotice) => void
  readonly #failing = new Set<DiskWork>()

  constructor(notify: (notice: DiskNotice) => void = () => {}) {
    this.#notify = notify
  }

  /** Reports disk errors and ignores others. Returns whether it was one. */
  failed(work: DiskWork, error: unknown, file?: string): boolean {
    const refused = refusalIn(error, file)
    if (refused === undefined) return false
    this.#failing.add(work)
    this.#notify({ work, refused })
    return true
  }

  succeeded(work: DiskWork): void {
    if (this.#failing.delete(work)) this.#notify({ work })
  }

  /** Reports success for several kinds of work. */
  recovered(works: readonly DiskWork[]): void {
    for (const work of works) this.succeeded(work)
  }
}
