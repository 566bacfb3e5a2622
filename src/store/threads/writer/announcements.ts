import type { LogWriter } from '../../sqlite/index.ts'
import { type CommitLink, CommitSender } from './commit-link.ts'
import type { Caller } from './writer-messages.ts'

/** Passes the frames of own commits on to the threads that listen. Without one, nothing is collected. */
export class Announcements {
  readonly #writer: Pick<LogWriter, 'collectFrames' | 'takeAppended'>
  readonly #senders = new Map<Caller, CommitSender>()

  constructor(writer: Pick<LogWriter, 'collectFrames' | 'takeAppended'>) {
    this.#writer = writer
  }

  /** Sets the listener of a thread; undefined removes it. */
  connect(caller: Caller, link: CommitLink | undefined): void {
    const before = this.#senders.get(caller)
    if (before === undefined && link === undefined) return
    before?.close()
    this.#senders.delete(caller)
    if (link !== undefined) this.#senders.set(caller, new CommitSender(link))
    this.#writer.collectFrames(this.#senders.size === 0 ? undefined : () => this.#unread)
  }

  /** Posts the frames of the last commits. */
  announce(): void {
    if (this.#senders.size === 0) return
    const appended = this.#writer.takeAppended()
    if (appended.length === 0) return
    const [last, ...others] = [...this.#senders.values()].reverse()
    for (const sender of others) sender.post(appended, false)
    last?.post(appended)
  }

  close(): void {
    for (const sender of this.#senders.values()) sender.close()
    this.#senders.clear()
  }

  /** That of the slowest listener. */
  get #unread(): number {
    return Math.max(...[...this.#senders.values()].map(({ unread }) => unread))
  }
}
