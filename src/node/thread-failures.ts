import { limits } from '../limits.ts'
import { type Logger, RateLimit } from '../log/index.ts'
import type { Metrics } from '../metrics.ts'
import type { ThreadFailed, ThreadName } from '../store/index.ts'

/** Counts and logs threads that could not be started; the node goes on without them and tries again. */
export function threadFailures(metrics: Metrics, log: Logger): ThreadFailed {
  const help = 'Threads that could not be started and are tried again, by thread.'
  const counter = metrics.counter('shoal_thread_start_failures_total', help, 'thread')
  const rates = new Map<ThreadName, RateLimit>()
  return (thread, error) => {
    counter.add(1, thread)
    const rate = rates.get(thread) ?? new RateLimit(limits.refusalLogMs)
    rates.set(thread, rate)
    rate.occurred((count) =>
      log.warn(`the ${thread} thread could not be started, and is tried again: ${error.message}`, { count }),
    )
  }
}
