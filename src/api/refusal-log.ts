import { errorTable } from '../base/errors.ts'
import { type Logger, ThrottledLog } from '../logging/index.ts'
import type { Timers } from '../runtime/timers.ts'

/** The logged fields of a request. Never its query string, headers or body: they contain tokens. */
export interface RefusedRequest {
  readonly method?: string | undefined
  readonly path?: string
  readonly remote: string | undefined
  /** The app that has sent it, if it was authenticated. */
  readonly appId?: string | undefined
}

/** Longer paths are truncated in the log. */
const shownPath = 80

/**
 * Logs rejected requests, rate-limited: one line a minute per status, error code and app, with a count of the others.
 * The reason is that of the error code: messages may quote tokens and bodies.
 */
export class RefusalLog {
  readonly #log: Logger
  readonly #throttled: ThrottledLog

  constructor(log: Logger, timers: Timers) {
    this.#log = log
    this.#throttled = new ThrottledLog((count) => log.info('more requests refused', { count }), timers)
  }

  /** `reason` is the code of an error. */
  add(status: number, reason: string, { method, path, remote, appId }: RefusedRequest): void {
    const what = `${status} ${reason}`
    const app = appId === undefined ? {} : { app: appId }
    const { when } = Object.hasOwn(errorTable, reason) ? errorTable[reason as keyof typeof errorTable] : {}
    const write = (text: string, fields = {}): void =>
      status < 500 ? this.#log.info(text, fields) : this.#log.warn(text, fields)
    this.#throttled.add(appId === undefined ? what : `${what} ${appId}`, {
      first: () => {
        const target = { ...(method !== undefined && { method }), ...(path !== undefined && { path: shown(path) }) }
        const more = { ...app, ...(when !== undefined && { reason: when }) }
        write(`request refused: ${what}`, { ...target, ...(remote !== undefined && { remote }), ...more })
      },
      more: (count) => write(`more requests refused: ${what}`, { count, ...app }),
    })
  }
}

function shown(path: string): string {
  return path.length > shownPath ? `${path.slice(0, shownPath)}…` : path
}
