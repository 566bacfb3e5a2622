import { performance } from 'node:perf_hooks'
import { limits } from './limits.ts'
import { collectAll, residentBytes } from './memory.ts'

/** How often a thread looks whether it has something to do, in milliseconds. */
const lookMs = 1000
/** The part of that time for which it may be at work and yet rest. */
const restingShare = 0.01
/** Whoever has worked for so long has something to give back, in milliseconds. */
const workMs = 200

export interface Rest {
  /** Bytes of memory of the process below which there is no need to give something back: the next work is slower after it. */
  readonly fromBytes?: number
  /** Gives up what is kept for the next work, before the garbage is collected. */
  readonly begins?: () => void
  /** Milliseconds, ever, that the thread was asleep where the event loop takes it for work. */
  readonly waitedMs?: () => number
  /** Prepares for the next work, after the garbage was collected. */
  readonly ends?: () => void
}

/**
 * Has this thread give memory back once it has worked and has nothing to do any more. The garbage collector itself waits
 * for more work, which makes it wait for ever, and keeps what it has made room for.
 */
export function restAfterWork({ begins, ends, waitedMs = () => 0, fromBytes = limits.restingBytes }: Rest): void {
  let last = performance.eventLoopUtilization()
  let lastWaited = waitedMs()
  let worked = 0
  const look = (): void => {
    const now = performance.eventLoopUtilization()
    const { active, idle } = performance.eventLoopUtilization(now, last)
    const waited = waitedMs()
    const busy = Math.max(0, active - (waited - lastWaited))
    last = now
    lastWaited = waited
    worked += busy
    if (worked < workMs) return
    const isResting = busy <= restingShare * (active + idle) && (residentBytes() ?? 0) >= fromBytes
    if (!isResting) return
    attempt(begins)
    collectAll()
    attempt(ends)
    // To collect is no work that there is something to give back from: a large heap would be collected over and over.
    last = performance.eventLoopUtilization()
    worked = 0
  }
  setInterval(look, lookMs).unref()
}

/** Nobody waits for it: what could not be done is left until the next rest. */
function attempt(work: (() => void) | undefined): void {
  try {
    work?.()
  } catch {
    // It is as it was before.
  }
}
