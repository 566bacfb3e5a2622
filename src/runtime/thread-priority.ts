import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/** Nice values to add for threads that are less urgent than the main thread and the writer. */
export const priorities = { reading: 10, sealing: 5 } as const

const maxNice = 19

/**
 * Lowers the scheduling priority of the current thread by adding to its nice value. Only Linux has priorities per
 * thread; elsewhere, or without permission, nothing changes. Threads started by this one inherit the priority, so it
 * must not be the first to use libuv's thread pool: its file I/O is synchronous.
 */
export function lowerPriority(steps: number): void {
  if (process.platform !== 'linux') return
  try {
    const [owner, , thread] = readlinkSync('/proc/thread-self').split('/').map(Number)
    // In another PID namespace the same ID would be another thread.
    if (owner !== process.pid || thread === undefined) return
    setPriority(thread, Math.min(maxNice, getPriority(thread) + steps))
  } catch {
    // Not permitted: the priority stays as it is.
  }
}
