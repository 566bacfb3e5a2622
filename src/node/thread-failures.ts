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

/** Threads that end by themselves, which is a reason in `/readyz` until they are replaced, or cannot be started. */
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
    const help = 'Threads that could not be started and are tried again, by thread.'
    this.#startFailures = metrics.counter('shoal_thread_start_failures_total', help, 'thread')
    const counter = {
      name: 'shoal_thread_ends_total',
      help: 'Threads that have ended without being asked to, by thread.',
      label: 'thread',
    }
    this.#ends = new Failures({ ...parts, problem: 'Threads', counter })
  }

  /** The node goes on without the thread and tries again. */
  startFailed(thread: ThreadName, error: Error): void {
    this.#startFailures.add(1, thread)
    const rate = this.#rates.get(thread) ?? new RateLimit(limits.refusalLogMs, this.#clock)
    this.#rates.set(thread, rate)
    rate.occurred((count) =>
      this.#log.warn(`the ${thread} thread could not be started, and is tried again: ${error.message}`, { count }),
    )
  }

  ended(thread: ThreadName, error: Error): void {
    this.#ends.failed(thread, `the ${thread} thread has ended: ${error.message}`)
  }

  started(thread: ThreadName): void {
    this.#ends.succeeded(thread)
  }

  /** Sets how a thread that has ended is started again, where that is not done by itself. */
  setRestart(thread: ThreadName, restart: () => Promise<void>): void {
    this.#ends.setRetry([thread], restart)
  }

  stop(): void {
    this.#ends.stop()
  }
}
