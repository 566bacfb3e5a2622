import { messageOf } from '../../base/errors.ts'
import { type Logger, ThrottledLog } from '../../logging/index.ts'
import type { Timers } from '../../runtime/timers.ts'
import type { SwarmFailures } from '../snapshot.ts'

type Work = keyof SwarmFailures

const words: Readonly<Record<Work, string>> = {
  replication: 'replication failed',
  removal: 'peers cannot be told of a removal yet',
  blocks: 'blocks of files are not exchanged',
  settings: 'a setting of the swarm cannot be applied',
}

/** Counts failures of the swarm thread, and logs them. Peers repeat requests, so repeated lines become a count. */
export class FailureLog {
  readonly #log: Logger
  readonly #lines: ThrottledLog
  readonly #counts: Record<Work, number> = { replication: 0, removal: 0, blocks: 0, settings: 0 }

  constructor(log: Logger, timers: Timers) {
    this.#log = log
    this.#lines = new ThrottledLog((count) => log.error('more failures of other kinds', { count }), timers)
  }

  get counts(): SwarmFailures {
    return { ...this.#counts }
  }

  add(work: Work, error: unknown): void {
    this.#counts[work]++
    const text = `${words[work]}: ${messageOf(error)}`
    this.#lines.add(text, {
      first: () => this.#log.error(text),
      more: (count) => this.#log.error(text, { count }),
    })
  }
}
