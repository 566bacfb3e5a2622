import { tuning } from '../../../base/tuning.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { SharedCounts } from '../../sqlite/index.ts'
import { pause } from '../thread-messages.ts'

/**
 * While events are published, long queries give way: a thread that never waits for anything is left on its processor
 * for a while even when one that should go first wakes up there. So their slices are shorter, with a pause after
 * each.
 */
const givingWay = { forMs: 100, sliceMs: 2, pauseMs: 0.02 } as const

/** Gives publishing priority over long queries. */
export class PublishPriority {
  readonly #counts: SharedCounts
  readonly #clock: Clock
  /** How often events were appended, and when that was found to have risen. */
  #seen = { appends: 0, at: Number.NEGATIVE_INFINITY }

  constructor(counts: SharedCounts, clock: Clock) {
    this.#counts = counts
    this.#clock = clock
  }

  /** Milliseconds of the next slices, after a pause where a long query gives way. */
  sliceMs(hasLongJob: boolean): number {
    // Asked in every round: otherwise a commit of long ago would be taken for a new one.
    const isPublishing = this.#isPublishing()
    if (!hasLongJob || !isPublishing) return tuning.sliceMs
    pause(givingWay.pauseMs)
    return givingWay.sliceMs
  }

  /** Whether events were published not long before this was asked the last time. */
  #isPublishing(): boolean {
    const { appends } = this.#counts
    const now = this.#clock.steadyMs()
    if (appends !== this.#seen.appends) this.#seen = { appends, at: now }
    return now - this.#seen.at < givingWay.forMs
  }
}
