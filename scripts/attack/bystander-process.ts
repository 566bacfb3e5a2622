import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { BystanderReport, BystanderTask, FromBystander, ToBystander } from './bystander-report.ts'

/** Timeout for the last requests of a bystander, in milliseconds. */
const reportMs = 30_000

/** The child process of a bystander. */
export class BystanderProcess {
  readonly #child: ChildProcess = fork(join(import.meta.dirname, 'bystander.ts'), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  readonly #reported: Promise<BystanderReport>

  private constructor() {
    this.#reported = this.#told('report').then(({ report }) => report)
    // The rejection is handled when the attack is over.
    this.#reported.catch(() => {})
  }

  /** Starts one. Resolved when it is connected and each kind of request has succeeded once. */
  static async start(task: BystanderTask): Promise<BystanderProcess> {
    const bystander = new BystanderProcess()
    const ready = bystander.#told('ready')
    bystander.#send({ type: 'start', task })
    await ready
    return bystander
  }

  /** Lets it finish. Returns its report. */
  async end(): Promise<BystanderReport> {
    this.#send({ type: 'end' })
    const timer = setTimeout(() => this.kill(), reportMs)
    try {
      return await this.#reported
    } finally {
      clearTimeout(timer)
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #send(message: ToBystander): void {
    if (this.#child.connected) this.#child.send(message)
  }

  #told<T extends FromBystander['type']>(type: T): Promise<Extract<FromBystander, { type: T }>> {
    return new Promise((resolve, reject) => {
      this.#child.on('message', (message: FromBystander) => {
        if (message.type === type) resolve(message as Extract<FromBystander, { type: T }>)
      })
      this.#child.once('exit', (code) => reject(new Error(`the bystander ended with the code ${code}`)))
    })
  }
}
