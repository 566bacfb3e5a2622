import type { StreamedBody } from '../../api/index.ts'
import { limits } from '../../base/limits.ts'
import type { RecentLine } from '../../logging/index.ts'
import type { Timers } from '../../runtime/timers.ts'

/** A response body with log lines as they are written. Lines beyond the buffer of a slow client are counted only. */
export class LogStream implements StreamedBody {
  readonly heldBytes = limits.logStreamBytes
  readonly #timers: Timers
  readonly #unsubscribe: () => void
  readonly #keepAliveMs: number
  #waiting: string[] = []
  #waitingBytes = 0
  #dropped = 0
  #isCancelled = false
  #wake: () => void = () => {}

  /** `first` are the lines to start with; `subscribe` calls back for each further one. */
  constructor(
    first: readonly RecentLine[],
    subscribe: (listener: (line: RecentLine) => void) => () => void,
    timers: Timers,
    keepAliveMs: number = limits.keepAliveMs,
  ) {
    this.#timers = timers
    this.#keepAliveMs = keepAliveMs
    for (const line of first) this.#add(line)
    this.#unsubscribe = subscribe((line) => this.#add(line))
  }

  cancel(): void {
    this.#isCancelled = true
    this.#unsubscribe()
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (!this.#isCancelled) {
      if (this.#waiting.length === 0) await this.#newLine()
      if (this.#isCancelled) return
      // An empty line keeps the connection alive.
      yield Buffer.from(this.#drain() || '\n')
    }
  }

  #add({ text }: RecentLine): void {
    const bytes = Buffer.byteLength(text)
    if (this.#waitingBytes + bytes > limits.logStreamBytes) this.#dropped++
    else {
      this.#waiting.push(text)
      this.#waitingBytes += bytes
    }
    this.#wake()
  }

  #drain(): string {
    const lines = this.#waiting
    if (this.#dropped > 0)
      lines.push(
        `${JSON.stringify({ level: 'WARN', message: `${this.#dropped} lines were left out`, target: 'logs' })}\n`,
      )
    this.#waiting = []
    this.#waitingBytes = 0
    this.#dropped = 0
    return lines.join('')
  }

  async #newLine(): Promise<void> {
    const woken = Promise.withResolvers<void>()
    const timer = this.#timers.setTimeout(woken.resolve, this.#keepAliveMs)
    this.#wake = woken.resolve
    await woken.promise
    this.#timers.clear(timer)
  }
}
