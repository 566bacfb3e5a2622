import type { StreamedBody } from '../../api/index.ts'
import { damageOf, messageOf, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Timers } from '../../runtime/timers.ts'
import type { FolderJob, FolderStep } from '../../store/index.ts'

/**
 * A response body with the progress of a job as NDJSON, then its result or error. Progress is conflated: a slow client
 * gets the newest step only.
 */
export class JobStream implements StreamedBody {
  readonly #timers: Timers
  readonly #job: FolderJob<unknown>
  #step: FolderStep | undefined
  #isEnded = false
  #wake: () => void = () => {}

  /** @param start starts the job with the function to call for each step */
  constructor(start: (progress: (step: FolderStep) => void) => FolderJob<unknown>, timers: Timers) {
    this.#timers = timers
    this.#job = start((step) => {
      this.#step = step
      this.#wake()
    })
    const ended = (): void => {
      this.#isEnded = true
      this.#wake()
    }
    this.#job.result.then(ended, ended)
  }

  cancel(): void {
    if (!this.#isEnded) this.#job.cancel()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (!this.#isEnded) {
      if (this.#step === undefined) await this.#nextStep()
      // An empty line keeps the connection alive.
      if (!this.#isEnded) yield line(this.#step && { type: 'progress', ...this.#step })
      this.#step = undefined
    }
    yield line(await this.#outcome())
  }

  async #outcome(): Promise<object> {
    try {
      return { type: 'result', result: await this.#job.result }
    } catch (error) {
      if (error instanceof ShoalError) return error
      return damageOf(error) ?? new ShoalError('ERR_IO', messageOf(error))
    }
  }

  /** Waits for a step, the end of the job, or the time for a keep-alive. */
  async #nextStep(): Promise<void> {
    const woken = Promise.withResolvers<void>()
    const timer = this.#timers.setTimeout(woken.resolve, limits.keepAliveMs)
    this.#wake = woken.resolve
    if (!this.#isEnded) await woken.promise
    this.#timers.clear(timer)
  }
}

function line(value: object | undefined): Uint8Array {
  return Buffer.from(`${value === undefined ? '' : JSON.stringify(value)}\n`)
}
