import { tuning } from '../../../base/tuning.ts'
import type { Runtime } from '../../../runtime/system-runtime.ts'

/** Runs reads one after the other, and lets the event loop run after each slice of time. */
export class ReadSlices {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>
  /** Bounded by the callers: what peers have asked for. */
  readonly #waiting: (() => void)[] = []
  #isScheduled = false

  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>) {
    this.#runtime = runtime
  }

  run<T>(read: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(read())
        } catch (error) {
          reject(error)
        }
      })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#runtime.timers.setImmediate(() => this.#runSlice())
  }

  #runSlice(): void {
    const { clock } = this.#runtime
    const end = clock.steadyMs() + tuning.peerReadSliceMs
    do this.#waiting.shift()?.()
    while (this.#waiting.length > 0 && clock.steadyMs() < end)
    this.#isScheduled = false
    if (this.#waiting.length > 0) this.#schedule()
  }
}
