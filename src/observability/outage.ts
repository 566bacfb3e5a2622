import { limits } from '../base/limits.ts'
import type { Clock } from '../runtime/clock.ts'

interface OutageLog {
  error(message: string): void
  info(message: string): void
}

/**
 * Logs an outage without flooding the log: one line when it begins, at most one every `outageSummaryMs` while it lasts,
 * and one when it is over.
 */
export class Outage {
  readonly #subject: string
  readonly #log: OutageLog
  readonly #clock: Clock
  #failures = 0
  #began = 0
  #lastLine = 0
  #detail: string | undefined

  /** `subject` begins the log lines, for example "storing events". */
  constructor(subject: string, log: OutageLog, clock: Clock) {
    this.#subject = subject
    this.#log = log
    this.#clock = clock
  }

  /** The reason of the last failure; undefined when there is no outage. */
  get detail(): string | undefined {
    return this.#detail
  }

  failed(detail: string): void {
    const now = this.#clock.steadyMs()
    this.#failures++
    if (this.#detail === undefined) {
      this.#began = now
      this.#lastLine = now
      this.#log.error(`${this.#subject} fails: ${detail}`)
    } else if (now - this.#lastLine >= limits.outageSummaryMs) {
      this.#lastLine = now
      this.#log.error(`${this.#subject} still fails, ${this.#summary(now)}: ${detail}`)
    }
    this.#detail = detail
  }

  succeeded(): void {
    if (this.#detail === undefined) return
    this.#log.info(`${this.#subject} works again, after it failed ${this.#summary(this.#clock.steadyMs())}`)
    this.#detail = undefined
    this.#failures = 0
  }

  #summary(now: number): string {
    const times = this.#failures === 1 ? 'once' : `${this.#failures} times`
    return `${times} in ${Math.max(1, Math.round((now - this.#began) / 1000))} s`
  }
}
