import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Job, parseReports, type Report, reportPipe } from './messages.ts'

const program = fileURLToPath(new URL('victim.ts', import.meta.url))
const patienceMs = 60_000

/** The running victims, to be killed when this process ends. */
export function killAll(): void {
  for (const child of children) child.kill('SIGKILL')
}

const children = new Set<ChildProcess>()

/** The end of a life, with the reports of the victim. */
export interface Life {
  readonly reports: readonly Report[]
  /** Whether the process ended before the kill. */
  readonly early: string | undefined
}

/** A process that waits for its job, runs it, and is killed. */
export class VictimProcess {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  readonly #opened: Promise<void>
  #text = ''
  #errors = ''

  /** `cache` is the folder of the compile cache. A victim that is killed does not write to it. */
  constructor(cache: string) {
    this.#child = spawn(process.execPath, [program], {
      stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: cache },
    })
    children.add(this.#child)
    this.#closed = once(this.#child, 'close').finally(() => children.delete(this.#child))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
    })
    const stdin = this.#child.stdin as Writable
    // Ignores EPIPE: the process may be killed before it has read its job.
    stdin.on('error', () => {})
    const reports = this.#child.stdio[reportPipe] as Readable
    reports.on('error', () => {})
    this.#opened = new Promise((resolve) => {
      reports.setEncoding('utf8').on('data', (text: string) => {
        this.#text += text
        resolve()
      })
    })
  }

  give(job: Job): void {
    ;(this.#child.stdin as Writable).write(`${JSON.stringify(job)}\n`)
  }

  /** Waits until the victim has opened the store, or has ended. */
  async opened(): Promise<void> {
    await Promise.race([this.#opened, this.#closed, sleep(patienceMs, undefined, { ref: false })])
    if (this.#text === '' && this.#child.exitCode === null) throw new Error('the victim does not open the store')
  }

  /** Kills the victim. Returns all of its reports. */
  async kill(): Promise<Life> {
    const alive = this.#child.kill('SIGKILL')
    await this.#closed
    const { exitCode, signalCode } = this.#child
    const early = alive && signalCode === 'SIGKILL' ? undefined : `it ended by itself (${exitCode ?? signalCode})`
    return { reports: parseReports(this.#text), early: early && `${early}\n${this.#errors}` }
  }

  /** Lets the victim exit normally. */
  async end(): Promise<void> {
    this.#child.stdin?.end()
    await this.#closed
  }
}
