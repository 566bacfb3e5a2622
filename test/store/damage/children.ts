import { fork } from 'node:child_process'
import type { Verdict } from './judge.ts'

/** What one flipped bit has led to. */
export interface Flipped extends Verdict {
  /** The column, or the table, by which outcomes are counted. */
  readonly place: string
  /** Which bit of it. */
  readonly bit: string
}

/** Far longer than the slowest answer of the slowest machine. */
const hangMs = 60_000

/**
 * Runs a program that flips bits in several processes at once, each with its arguments, and hands over what each flip
 * has led to. A process that ends early or stands still is what must not be, too: it ends with an error that says after
 * which bit.
 */
export async function runFlips<T extends Pick<Flipped, 'place'> = Flipped>(
  program: URL,
  processes: readonly (readonly string[])[],
  take: (flipped: T) => void,
): Promise<void> {
  await Promise.all(processes.map((args) => runOne(program, args, take)))
}

function runOne<T extends Pick<Flipped, 'place'>>(
  program: URL,
  args: readonly string[],
  take: (flipped: T) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(program, args)
    let last = 'before the first bit'
    const watchdog = setTimeout(() => {
      reject(new Error(`a process stands still: ${last}`))
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
