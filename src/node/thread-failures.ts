import { limits } from '../base/limits.ts'
import { type Logger, RateLimit } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import type { Counter, Metrics } from '../observability/metrics.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Timers } from '../runtime/timers.ts'
import type { ThreadName, ThreadWatch } from '../store/index.ts'
import { Failures } from './failures.ts'

interface Parts {
  readonly health: Health
  readonly metrics: Metrics
  readonly log: Logger
  readonly clock: Clock
  readonly timers: Timers
}

/** Reports worker threads that crash, with a reason in `/readyz` until they are replaced, or that fail to start. */
export class ThreadFailures implements ThreadWatch {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #startFailures: Counter
  readonly #rates = new Map<ThreadName, RateLimit>()
  readonly #ends: Failures<ThreadName>

  constructor(parts: Parts) {
    const { metrics, log, clock } = parts
    this.#log = log
    this.#clock = clock
    const help = 'Failed starts of threads, which are retried, by thread.'
    this.#startFailures = metrics.counter('shoal_thread_start_failures_total', help, 'thread')
    const counter = {
      name: 'shoal_thread_ends_total',
      help: 'Threads that have ended unexpectedly, by thread.',
      label: 'thread',
    }
    this.#ends = new Failures({ ...parts, problem: 'Threads', counter })
  }

  /** The node continues without the thread and retries. */
  startFailed(thread: ThreadName, error: Error): void {
    this.#startFailures.add(1, thread)
    const rate = this.#rates.get(thread) ?? new RateLimit(limits.refusalLogMs, this.#clock)
    this.#rates.set(thread, rate)
    rate.occurred((count) =>
      this.#log.warn(`the ${thread} thread could not be started, retrying: ${error.message}`, { count }),
    )
  }

  ended(thread: ThreadName, error: Error): void {
    this.#ends.failed(thread, `the ${thread} thread has ended: ${error.message}`)
  }

  started(thread: ThreadName): void {
    this.#ends.succeeded(thread)
  }

  /** Sets how a crashed thread is restarted, where that is not automatic. */
  setRestart(thread: ThreadName, restart: () => Promise<void>): void {
    this.#ends.setRetry([thread], restart)
  }

  /** Forgets all ongoing failures: the parts that failed are closed. */
  reset(): void {
    this.#ends.reset()
  }

  stop(): void {
    this.#ends.stop()
  }
}
