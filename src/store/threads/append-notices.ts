import type { AppendedFrames } from '../../replication/index.ts'
import { CommitListeners } from '../commit-listeners.ts'
import { type CommitLink, CommitReceiver, newCommitLink } from './writer/commit-link.ts'

/** The listeners to own commits in the main thread. The writer is connected while there are any. */
export class AppendNotices {
  readonly #listeners = new CommitListeners<[readonly AppendedFrames[]]>()
  readonly #connect: (link: CommitLink | undefined) => void
  #receiver: CommitReceiver | undefined

  /** @param connect passes the link to the writer; undefined ends it */
  constructor(connect: (link: CommitLink | undefined) => void) {
    this.#connect = connect
  }

  add(listener: (appended: readonly AppendedFrames[]) => void): () => void {
    const remove = this.#listeners.add(listener)
    if (this.#receiver === undefined) {
      const [link, end] = newCommitLink()
      this.#receiver = new CommitReceiver(end, (appended) => this.#listeners.notify(appended))
      this.#connect(link)
    }
    return () => {
      remove()
      if (this.#listeners.size > 0 || this.#receiver === undefined) return
      this.close()
      this.#connect(undefined)
    }
  }

  close(): void {
    this.#receiver?.close()
    this.#receiver = undefined
  }
}
