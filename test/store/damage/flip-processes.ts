import { fork } from 'node:child_process'
import type { Verdict } from './verdict.ts'

/** The outcome of one flipped bit. */
export interface Flipped extends Verdict {
  /** The column or table by which outcomes are counted. */
  readonly place: string
  /** The position of the bit in it. */
  readonly bit: string
}

/** Far longer than the slowest query on the slowest machine. */
const hangMs = 60_000

/**
 * Runs a program that flips bits in several processes, each with its own arguments, and passes on the outcome of each
 * flip. A process that crashes or hangs is a failure, too: the error names the last bit.
 */
export async function runFlips<T extends Pick<Flipped, 'place'> = Flipped>(
  program: URL,
  processes: readonly (readonly string[])[],
  take: (flipped: T) => void,
): Promise<void> {
  const failed = new AbortController()
  try {
    await Promise.all(processes.map((args) => runOne(program, args, take, failed.signal)))
  } finally {
    failed.abort()
  }
}

function runOne<T extends Pick<Flipped, 'place'>>(
  program: URL,
  args: readonly string[],
  take: (flipped: T) => void,
  failed: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(program, args)
    // The result is discarded when another process has failed.
    failed.addEventListener('abort', () => child.kill('SIGKILL'))
    let last = 'before the first bit'
    const watchdog = setTimeout(() => {
      reject(new Error(`a process hangs: ${last}`))
      child.kill('SIGKILL')
    }, hangMs)
    child.on('message', (flipped: T & Partial<Flipped>) => {
      watchdog.refresh()
      last = `after ${flipped.place}${flipped.bit === undefined ? '' : `, ${flipped.bit}`}`
      take(flipped)
    })
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      clearTimeout(watchdog)
      if (code === 0) resolve()
      else reject(new Error(`a process ended with ${signal ?? code}: ${last}`))
    })
  })
}
