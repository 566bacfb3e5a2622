import { refusalIn } from './disk-refusal.ts'

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

/** The disk has refused something, or, without a refusal, what it refused before works again. */
export interface DiskNotice {
  readonly work: DiskWork
  readonly refused?: string
}

/** Tells of each failure of the disk, and of the first success after one. As long as the disk works it does nothing. */
export class DiskReporter {
  readonly #notify: (notice: DiskNotice) => void
  readonly #failing = new Set<DiskWork>()

  constructor(notify: (notice: DiskNotice) => void = () => {}) {
    this.#notify = notify
  }

  /** Reports an error of the disk and ignores all others; answers whether it was one. */
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

  /** Everything works that has failed. */
  recovered(works: readonly DiskWork[]): void {
    for (const work of works) this.succeeded(work)
  }
}
