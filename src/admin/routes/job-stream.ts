import type { StreamedBody } from '../../api/index.ts'
import { damageOf, messageOf, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Timers } from '../../runtime/timers.ts'
import type { FolderJob, FolderStep } from '../../store/index.ts'

/** A response body with the progress of a job as NDJSON: the newest step as often as the client reads, then the end. */
export class JobStream implements StreamedBody {
  readonly #timers: Timers
  readonly #job: FolderJob<unknown>
  #step: FolderStep | undefined
  #isEnded = false
  #wake: () => void = () => {}

  /** `start` gets the function that is called for each step. */
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
      if (this.#step === undefined) await this.#change()
      // An empty line keeps the connection alive.
      if (!this.#isEnded) yield line(this.#step && { type: 'progress', ...this.#step })
      this.#step = undefined
    }
    yield line(await this.#end())
  }

  async #end(): Promise<object> {
    try {
      return { type: 'result', result: await this.#job.result }
    } catch (error) {
      if (error instanceof ShoalError) return error
      return damageOf(error) ?? new ShoalError('ERR_IO', messageOf(error))
    }
  }

  async #change(): Promise<void> {
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
