import { limits } from '../base/limits.ts'
import { type Logger, ThrottledLog } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import type { Counter, Metrics } from '../observability/metrics.ts'
import type { Timer, Timers } from '../runtime/timers.ts'

interface FailuresOptions {
  readonly health: Health
  readonly metrics: Metrics
  readonly log: Logger
  readonly timers: Timers
  /** The reason in `/readyz`. */
  readonly problem: string
  /** The metric; the label value is the name of the failure. */
  readonly counter: { readonly name: string; readonly help: string; readonly label: string }
}

/** Reports failures of work without a caller: logs and counts them, and keeps a reason in `/readyz` until recovery. */
export class Failures<Name extends string> {
  readonly #options: FailuresOptions
  readonly #counter: Counter
  readonly #lines: ThrottledLog
  /** Ongoing failures, with their messages. */
  readonly #failing = new Map<Name, string>()
  readonly #retries = new Map<Name, () => Promise<void>>()
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: FailuresOptions) {
    const { metrics, log, timers, counter } = options
    this.#options = options
    this.#counter = metrics.counter(counter.name, counter.help, counter.label)
    this.#lines = new ThrottledLog((count) => log.error(`${count} more failures of other kinds`), timers)
  }

  /** Only counts a failure that is logged and reported elsewhere. */
  count(name: Name): void {
    this.#counter.add(1, name)
  }

  /** `text` says what failed and why. */
  failed(name: Name, text: string): void {
    const { log } = this.#options
    this.count(name)
    this.#lines.add(name, {
      first: () => log.error(text),
      more: (count) => log.error(text, { count }),
    })
    this.#failing.set(name, text)
    this.#report()
  }

  succeeded(name: Name): void {
    if (this.#failing.delete(name)) this.#report()
  }

  /**
   * Sets the retry that runs periodically during a failure, to detect recovery. A load balancer may keep requests away
   * from a node that is not ready, so that no request would ever detect it.
   */
  setRetry(names: readonly Name[], retry: () => Promise<void>): void {
    for (const name of names) this.#retries.set(name, retry)
  }

  /** Forgets all ongoing failures: the parts that failed are closed. */
  reset(): void {
    this.#failing.clear()
    this.#report()
  }

  stop(): void {
    this.#isStopped = true
    this.#options.timers.clear(this.#timer)
  }

  #report(): void {
    const { health, problem, timers } = this.#options
    if (this.#failing.size > 0) {
      health.report(problem, [...this.#failing.values()].join('; '))
      if (!this.#isStopped) this.#timer ??= timers.setInterval(() => this.#retry(), limits.failureRetryMs).unref()
    } else {
      health.resolve(problem)
      this.#options.timers.clear(this.#timer)
      this.#timer = undefined
    }
  }

  #retry(): void {
    const retries = new Set([...this.#failing.keys()].map((name) => this.#retries.get(name)))
    // A failed retry is reported where the work is done, like every other attempt.
    for (const retry of retries) retry?.().catch(() => {})
  }
}
