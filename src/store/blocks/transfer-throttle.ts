import { format } from '../../base/format.ts'
import { tuning } from '../../base/tuning.ts'

/**
 * Throttles file transfers in favour of events: while events are published, uploads and downloads pause after every
 * piece. The pauses of all transfers are serialized, so that many transfers slow publishing down no more than one.
 */
export class TransferThrottle {
  /** The number of publish calls so far. */
  readonly #published: () => number
  readonly #sleep: (ms: number) => Promise<unknown>
  #lastPublished: number
  /** Bytes transferred since the last pause. */
  #transferred = 0
  #lastPause: Promise<unknown> = Promise.resolve()
  /** The number of pauses that have not ended. */
  #pending = 0

  constructor(published: () => number, sleep: (ms: number) => Promise<unknown>) {
    this.#published = published
    this.#sleep = sleep
    this.#lastPublished = published()
  }

  /** To be awaited before a number of bytes is transferred. */
  async pass(bytes: number): Promise<void> {
    this.#transferred += bytes
    if (this.#transferred < format.fileChunkBytes) return
    const published = this.#published()
    const isPublished = published !== this.#lastPublished
    const ms = this.#transferred / tuning.fileBytesPerMs
    this.#lastPublished = published
    this.#transferred = 0
    // A transfer that arrives during a pause gets one of its own after it. Otherwise all would continue at once.
    if (isPublished || this.#pending > 0) this.#lastPause = this.#pauseAfter(this.#lastPause, ms)
    await this.#lastPause
  }

  async #pauseAfter(previous: Promise<unknown>, ms: number): Promise<void> {
    this.#pending++
    await previous
    await this.#sleep(ms)
    this.#pending--
  }
}
