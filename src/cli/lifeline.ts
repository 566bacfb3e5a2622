import { Socket } from 'node:net'
import type { Clock } from '../runtime/clock.ts'
import type { Timers } from '../runtime/timers.ts'

/**
 * On a machine with an old Node the launcher (bin/shoal) runs this process, and has passed it one end of a pipe. Signals
 * that reach the launcher come through it as lines. When the launcher is gone without a word, so is this process.
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

/** npm runs commands through a shell, and passes signals on to that shell only. */
const underNpm = process.env['npm_command'] !== undefined

/** How often to look whether the parent is still there, in milliseconds. */
const parentCheckMs = 250

/** The shell between npm and this process dies of a signal without passing it on: then the parent is another one. */
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

/** How long npm may take to repeat a signal, in milliseconds. */
const echoMs = 500

/**
 * Counts requests to stop. Ctrl+C reaches every process of the terminal, and the launcher and npm, which got it too,
 * pass it on: told twice, it is still one request. So per signal the larger of the two counts is taken, and under npm
 * the same signal within a moment counts once.
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
    const echo = underNpm && now - (this.#lastAt.get(signal) ?? Number.NEGATIVE_INFINITY) < echoMs
    this.#lastAt.set(signal, now)
    if (echo) return
    const { own, launcher } = this.#counts
    this.#counts[from].set(signal, (this.#counts[from].get(signal) ?? 0) + 1)
    let requests = 0
    for (const name of new Set([...own.keys(), ...launcher.keys()]))
      requests += Math.max(own.get(name) ?? 0, launcher.get(name) ?? 0)
    if (requests > 1) this.#second()
  }
}
