/** A timer that was set. */
export interface Timer {
  /** Starts its delay again. */
  refresh(): unknown
  /** Lets the process end while this timer is pending. */
  unref(): this
}

/** Delayed calls, with the names and meanings that JavaScript has for them. */
export interface Timers {
  setTimeout(work: () => void, ms: number): Timer
  setInterval(work: () => void, ms: number): Timer
  /** Calls back after the I/O that is pending. */
  setImmediate(work: () => void): void
  /** Cancels a timeout or an interval; none, or one that has fired, is ignored. */
  clear(timer: Timer | undefined): void
}

// The globals are looked up with each call, so that a test can replace them.
export const systemTimers: Timers = {
  setTimeout: (work, ms) => setTimeout(work, ms),
  setInterval: (work, ms) => setInterval(work, ms),
  setImmediate: (work) => void setImmediate(work),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
}

interface SleepOptions {
  /** Ends the sleep early when it is aborted. */
  readonly signal?: AbortSignal
  /** Lets the process end during the sleep. */
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

/** Resolves in the next turn of the event loop: others get theirs in between. */
export function yieldToEventLoop(timers: Timers): Promise<void> {
  return new Promise((resolve) => timers.setImmediate(resolve))
}
