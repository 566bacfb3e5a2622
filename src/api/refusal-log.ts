import { type Logger, ThrottledLog } from '../logging/index.ts'
import type { Timers } from '../runtime/timers.ts'

/** What the log says of a request. Never its query, its headers or its body: tokens are in them. */
export interface RefusedRequest {
  readonly method?: string | undefined
  readonly path?: string
  readonly remote: string | undefined
}

/** Characters of a path that are shown. */
const shownPath = 80

/** Logs refused requests by their status and reason; one a minute of each kind, with a count of the others. */
export class RefusalLog {
  readonly #log: Logger
  readonly #throttled: ThrottledLog

  constructor(log: Logger, timers: Timers) {
    this.#log = log
    this.#throttled = new ThrottledLog((count) => log.info('more requests refused', { count }), timers)
  }

  /** `reason` is the code of an error. */
  add(status: number, reason: string, { method, path, remote }: RefusedRequest): void {
    const what = `${status} ${reason}`
    const write = (text: string, fields = {}): void =>
      status < 500 ? this.#log.info(text, fields) : this.#log.warn(text, fields)
    this.#throttled.add(what, {
      first: () => {
        const target = { ...(method !== undefined && { method }), ...(path !== undefined && { path: shown(path) }) }
        write(`request refused: ${what}`, { ...target, remote })
      },
      more: (count) => write(`more requests refused: ${what}`, { count }),
    })
  }
}

function shown(path: string): string {
  return path.length > shownPath ? `${path.slice(0, shownPath)}…` : path
}
