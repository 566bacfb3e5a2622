import type { SteadyClock } from './job.ts'

/** When jobs run: by a steady clock in milliseconds, in turns of an event loop. */
export interface Schedule {
  readonly now: SteadyClock
  /** Calls a function soon, after what is due already. */
  readonly soon: (work: () => void) => void
}

/** The clock and the event loop of Node. */
export const systemSchedule: Schedule = {
  now: () => performance.now(),
  soon: (work) => void setImmediate(work),
}
