import { format } from '../base/format.ts'
import { tuning } from '../base/tuning.ts'

/**
 * Throttles file transfers in favour of events: while events are published, uploads and downloads rest after every
 * piece. The rests of all transfers are serialized, so that many transfers slow publishing down no more than one.
 */
export class GivingWay {
  /** The number of publish calls so far. */
  readonly #published: () => number
  readonly #rest: (ms: number) => Promise<unknown>
  #seen: number
  /** Bytes transferred since the last rest. */
  #moved = 0
  #resting: Promise<unknown> = Promise.resolve()
  /** The number of rests that have not ended. */
  #rests = 0

  constructor(published: () => number, rest: (ms: number) => Promise<unknown>) {
    this.#published = published
    this.#rest = rest
    this.#seen = published()
  }

  /** To be awaited before a number of bytes is transferred. */
  async pass(bytes: number): Promise<void> {
    this.#moved += bytes
    if (this.#moved < format.fileChunkBytes) return
    const published = this.#published()
    const isPublished = published !== this.#seen
    const ms = this.#moved / tuning.fileBytesPerMs
    this.#seen = published
    this.#moved = 0
    // A transfer that arrives during a rest gets one of its own after it. Otherwise all would continue at once.
    if (isPublished || this.#rests > 0) this.#resting = this.#restAfter(this.#resting, ms)
    await this.#resting
  }

  async #restAfter(others: Promise<unknown>, ms: number): Promise<void> {
    this.#rests++
    await others
    await this.#rest(ms)
    this.#rests--
  }
}
