import { rfc3339 } from '../base/timestamps.ts'
import type { App, Manifest } from '../identity/index.ts'
import { type Logger, ThrottledLog } from '../logging/index.ts'
import type { Timers } from '../runtime/timers.ts'

/** Longer strings from a manifest are truncated in the log. */
const shownLength = 64

/**
 * Logs issued and denied tokens (never the tokens themselves), rate-limited: one line a minute per app, with a count.
 */
export class TokenLog {
  readonly #log: Logger
  readonly #throttled: ThrottledLog

  constructor(log: Logger, timers: Timers) {
    this.#log = log.as('AUTH')
    this.#throttled = new ThrottledLog(
      (count) => this.#log.info('more token requests of other apps', { count }),
      timers,
    )
  }

  /** `expires` is in microseconds since the Unix epoch. */
  issued(manifest: Manifest, mode: App['mode'], expires: number, remote: string | undefined): void {
    const { appId, displayName, version } = manifest
    const kind = mode === 'signed' ? 'production' : 'trial'
    this.#throttled.add(`issued ${appId}`, {
      first: () =>
        this.#log.info(`token issued for ${appId} ${shown(version)} (${kind}), good until ${rfc3339(expires)}`, {
          displayName: shown(displayName),
          remote,
        }),
      more: (count) => this.#log.info(`more tokens issued for ${appId}`, { count }),
    })
  }

  refused({ appId, version }: Manifest, reason: string, remote: string | undefined): void {
    this.#throttled.add(`refused ${appId}`, {
      first: () => this.#log.info(`no token for ${appId} ${shown(version)}: ${reason}`, { remote }),
      more: (count) => this.#log.info(`no token for ${appId}: ${reason}`, { count }),
    })
  }
}

function shown(text: string): string {
  return text.length > shownLength ? `${text.slice(0, shownLength)}…` : text
}
