/** A timer that was set. */
export interface Timer {
  /** Restarts the delay. */
  refresh(): unknown
  /** Does not keep the process alive while the timer is pending. */
  unref(): this
}

/** Timers, named as in JavaScript. */
export interface Timers {
  setTimeout(work: () => void, ms: number): Timer
  setInterval(work: () => void, ms: number): Timer
  /** Calls back after pending I/O callbacks. */
  setImmediate(work: () => void): void
  /** Cancels a timeout or an interval; none, or one that has fired, is ignored. */
  clear(timer: Timer | undefined): void
}

// The globals are looked up on each call, so that a test can mock them.
export const systemTimers: Timers = {
  setTimeout: (work, ms) => setTimeout(work, ms),
  setInterval: (work, ms) => setInterval(work, ms),
  setImmediate: (work) => void setImmediate(work),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
}

interface SleepOptions {
  /** Ends the sleep early when it is aborted. */
  readonly signal?: AbortSignal
  /** Does not keep the process alive during the sleep. */
  readonly unref?: boolean
}

/** Resolves after a delay. */
export function sleep(timers: Timers, ms: number, { signal, unref = false }: SleepOptions = {}): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      timers.clear(timer)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const timer = timers.setTimeout(wake, ms)
    if (unref) timer.unref()
    if (signal?.aborted === true) wake()
    else signal?.addEventListener('abort', wake)
  })
}

/** Resolves in the next iteration of the event loop, after pending I/O callbacks. */
export function yieldToEventLoop(timers: Timers): Promise<void> {
  return new Promise((resolve) => timers.setImmediate(resolve))
}
