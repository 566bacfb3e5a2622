import { limits } from '../../base/limits.ts'
import { type Logger, ThrottledLog } from '../../logging/index.ts'
import type { Timers } from '../../runtime/timers.ts'

/** Logs slow and failed pings, per peer once and then as a count a minute: a bad network would fill the log. */
export class PingLog {
  readonly #log: Logger
  readonly #lines: ThrottledLog

  constructor(log: Logger, timers: Timers) {
    this.#log = log
    this.#lines = new ThrottledLog((count) => log.info('ping failure of more peers', { count }), timers)
  }

  answered(node: string, micros: number): void {
    if (micros < limits.slowPingMs * 1000) return
    const ms = Math.round(micros / 1000)
    this.#lines.add(`slow ${node}`, {
      first: () => this.#log.warn('slow ping time', { node, ms }),
      more: (count) => this.#log.warn('slow ping time', { node, ms, count }),
    })
  }

  failed(node: string): void {
    this.#lines.add(`failed ${node}`, {
      first: () => this.#log.info('ping failure', { node }),
      more: (count) => this.#log.info('ping failure', { node, count }),
    })
  }
}
