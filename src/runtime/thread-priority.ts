import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/** By how many steps threads stand back behind those that somebody waits for at once. */
export const priorities = { reading: 10, sealing: 5 } as const

const lowest = 19

/**
 * Lets other threads go first: where there are too few processors, this one waits for theirs. Only Linux has priorities of
 * threads; elsewhere, or where it is not allowed, all of them stay equal. Threads that this one starts inherit it, so it
 * must not be the first to use those that Node shares for files and names: what it asks the disk, it asks by itself.
 */
export function letOthersGoFirst(steps: number): void {
  if (process.platform !== 'linux') return
  try {
    const [owner, , thread] = readlinkSync('/proc/thread-self').split('/').map(Number)
    // Numbers of another namespace would be those of other threads.
    if (owner !== process.pid || thread === undefined) return
    setPriority(thread, Math.min(lowest, getPriority(thread) + steps))
  } catch {
    // It works as before.
  }
}
