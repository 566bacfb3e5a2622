import { format } from '../base/format.ts'
import { tuning } from '../base/tuning.ts'

/**
 * Files can wait, events cannot: while events are published, those who move files rest after every piece. All of them
 * share one rest after the other, so that many at once take no more from events than one.
 */
export class GivingWay {
  /** How many publish calls there were so far. */
  readonly #published: () => number
  readonly #rest: (ms: number) => Promise<unknown>
  #seen: number
  /** Bytes that were moved since the last rest. */
  #moved = 0
  #resting: Promise<unknown> = Promise.resolve()
  /** How many rests are not over yet. */
  #rests = 0

  constructor(published: () => number, rest: (ms: number) => Promise<unknown>) {
    this.#published = published
    this.#rest = rest
    this.#seen = published()
  }

  /** To be waited for before so many bytes are moved. */
  async pass(bytes: number): Promise<void> {
    this.#moved += bytes
    if (this.#moved < format.fileChunkBytes) return
    const published = this.#published()
    const isPublished = published !== this.#seen
    const ms = this.#moved / tuning.fileBytesPerMs
    this.#seen = published
    this.#moved = 0
    // Whoever comes while others rest has a rest of its own after them: they would all go on at once otherwise.
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
