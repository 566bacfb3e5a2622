import { Socket } from 'node:net'
import type { Clock } from '../runtime/clock.ts'
import type { Timers } from '../runtime/timers.ts'

/**
 * Calls the listener for signals that reach the launcher. On a machine with an old Node the launcher (bin/shoal) spawns
 * this process with a pipe, and forwards its signals through it as lines. When the pipe closes, the launcher was
 * killed, and this process kills itself too.
 */
export function onLauncherSignal(listener: (signal: NodeJS.Signals) => void): void {
  const descriptor = Number(process.env['SHOAL_LIFELINE'])
  if (!Number.isInteger(descriptor) || descriptor < 3) return
  delete process.env['SHOAL_LIFELINE']
  const lifeline = new Socket({ fd: descriptor, readable: true, writable: false })
  lifeline.unref()
  lifeline.setEncoding('utf8')
  lifeline.on('error', () => {})
  lifeline.on('data', (text: string) => {
    for (const signal of text.split('\n').filter(isSignal)) listener(signal)
  })
  lifeline.on('close', () => process.kill(process.pid, 'SIGKILL'))
}

function isSignal(text: string): text is NodeJS.Signals {
  return /^SIG[A-Z]+$/.test(text)
}

/** npm runs commands in a shell, and forwards signals only to that shell. */
const underNpm = process.env['npm_command'] !== undefined

/** Polling interval for the parent process, in milliseconds. */
const parentCheckMs = 250

/** Detects under npm that this process was orphaned: npm's shell may die of a signal without forwarding it. */
export function onOrphaned(listener: () => void, timers: Timers): void {
  if (!underNpm) return
  const parent = process.ppid
  const timer = timers.setInterval(() => {
    if (process.ppid === parent) return
    timers.clear(timer)
    listener()
  }, parentCheckMs)
  timer.unref()
}

/** Debounce time for signals under npm, which repeats them, in milliseconds. */
const debounceMs = 500

/**
 * Counts stop requests, without duplicates. Ctrl+C reaches the whole process group, and the launcher and npm, which get
 * it too, forward it once more. So per signal the larger count of both sources is used, and under npm repeated signals
 * are debounced.
 */
export class StopRequests {
  readonly #counts = { own: new Map<string, number>(), launcher: new Map<string, number>() }
  readonly #lastAt = new Map<string, number>()
  readonly #second: () => void
  readonly #clock: Clock

  constructor(second: () => void, clock: Clock) {
    this.#second = second
    this.#clock = clock
  }

  add(from: 'own' | 'launcher', signal: string): void {
    const now = this.#clock.steadyMs()
    const isRepeated = underNpm && now - (this.#lastAt.get(signal) ?? Number.NEGATIVE_INFINITY) < debounceMs
    this.#lastAt.set(signal, now)
    if (isRepeated) return
    const { own, launcher } = this.#counts
    this.#counts[from].set(signal, (this.#counts[from].get(signal) ?? 0) + 1)
    let requests = 0
    for (const name of new Set([...own.keys(), ...launcher.keys()]))
      requests += Math.max(own.get(name) ?? 0, launcher.get(name) ?? 0)
    if (requests > 1) this.#second()
  }
}
