import { tuning } from '../../../base/tuning.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { SharedCounts } from '../../sqlite/index.ts'
import { pause } from '../thread-messages.ts'

/**
 * While events are published, long queries get shorter slices, with a pause after each. Otherwise the scheduler of the
 * operating system would leave the busy reader thread on its processor for a while after the writer has woken up. It
 * ends with the window after the last publish: the priority of the thread itself is never changed.
 */
const throttling = { windowMs: 100, sliceMs: 2, pauseMs: 0.02 } as const

/** Gives publishing priority over long queries. */
export class PublishPriority {
  readonly #counts: Pick<SharedCounts, 'appends'>
  readonly #clock: Clock
  readonly #pause: (milliseconds: number) => void
  /** The last value of the append counter, and when it was first read. */
  #seen: { readonly appends: number; readonly at: number }

  constructor(counts: Pick<SharedCounts, 'appends'>, clock: Clock, pauseFor = pause) {
    this.#counts = counts
    this.#clock = clock
    this.#pause = pauseFor
    this.#seen = { appends: counts.appends, at: Number.NEGATIVE_INFINITY }
  }

  /** Returns the length of the next slices. Pauses before it if a long query is throttled. */
  sliceMs(hasLongJob: boolean): number {
    // Checked in every round: otherwise an old commit would be taken for a new one.
    const isPublishing = this.#isPublishing()
    if (!hasLongJob || !isPublishing) return tuning.sliceMs
    this.#pause(throttling.pauseMs)
    return throttling.sliceMs
  }

  /** Whether the append counter has changed within the window. */
  #isPublishing(): boolean {
    const { appends } = this.#counts
    const now = this.#clock.steadyMs()
    if (appends !== this.#seen.appends) this.#seen = { appends, at: now }
    return now - this.#seen.at < throttling.windowMs
  }
}
