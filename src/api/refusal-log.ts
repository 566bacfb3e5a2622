import { escapeLine } from '../base/control-characters.ts'
import { errorTable } from '../base/errors.ts'
import { type Logger, ThrottledLog } from '../logging/index.ts'
import type { Timers } from '../runtime/timers.ts'
import type { Refusal } from './refusal.ts'

/** The logged fields of a request. Never its query string, headers or body: they may contain tokens. */
export interface RefusedRequest {
  readonly method?: string | undefined
  readonly path?: string
  /** The service of a request over a WebSocket. */
  readonly service?: string | undefined
  readonly remote: string | undefined
  /** The app that has sent it, if it was authenticated. */
  readonly appId?: string | undefined
}

/** Lengths at which paths and causes are cut. */
const [shownPath, shownCause] = [80, 200]

/**
 * Logs refused requests, rate-limited: the first per status, error code and app at once, further ones as a count once a
 * minute. `reason` explains the error code, `cause` says what was wrong with this request.
 */
export class RefusalLog {
  readonly #log: Logger
  readonly #throttled: ThrottledLog

  constructor(log: Logger, timers: Timers) {
    this.#log = log
    this.#throttled = new ThrottledLog((count) => log.info('more requests refused', { count }), timers)
  }

  add({ status, code, cause }: Refusal, { method, path, service, remote, appId }: RefusedRequest): void {
    const what = `${status} ${code}`
    const app = appId === undefined ? {} : { app: appId }
    const reason = code === 'CORS' ? undefined : errorTable[code].when
    const write = (text: string, fields = {}): void =>
      status < 500 ? this.#log.info(text, fields) : this.#log.warn(text, fields)
    this.#throttled.add(appId === undefined ? what : `${what} ${appId}`, {
      first: () => {
        const fields = {
          method,
          path: shown(path, shownPath),
          service,
          remote,
          ...app,
          reason,
          cause: shown(cause, shownCause),
        }
        const known = Object.entries(fields).filter(([, value]) => value !== undefined)
        write(`request refused: ${what}`, Object.fromEntries(known))
      },
      more: (count) => write(`more requests refused: ${what}`, { count, ...app }),
    })
  }
}

function shown(text: string | undefined, length: number): string | undefined {
  if (text === undefined) return undefined
  return escapeLine(text.length > length ? `${text.slice(0, length)}…` : text)
}
