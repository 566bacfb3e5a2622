import { assert } from '../../../base/assert.ts'
import type { SharedCounts } from '../read/shared-counts.ts'
import type { LogState } from './log-state.ts'

/** Makes the commits of the writer visible to the reader threads, and tells which of them have to be woken. */
export class Publication {
  readonly #log: LogState
  readonly #counts: SharedCounts
  /** Whether streams have got new events since the last `takeWakeups`. */
  #hasNewEvents = false
  /** Whether the apps of some of them are unknown. */
  #hasReceivedEvents = true

  constructor(log: LogState, counts: SharedCounts) {
    this.#log = log
    this.#counts = counts
  }

  /**
   * Publishes a commit to the readers. The clock is ahead of all published events, so the lamport timestamps of own
   * events ascend from commit to commit, and a later snapshot adds own events only after those of an earlier one.
   */
  publish(): void {
    const { changed, clock } = this.#log
    // Before the counts: a reader that sees events of a stream knows the stream.
    if (this.#log.slotsChanged) this.#counts.incrementSlotChanges()
    this.#log.slotsChanged = false
    for (const { number, count, lamport } of changed) {
      assert(lamport < clock.next, 'the clock is ahead of all events that are published')
      assert(count >= this.#counts.count(number), 'a stream never loses events that were published')
      if (count > this.#counts.count(number)) this.#hasNewEvents = true
    }
    this.#counts.publish(changed)
    changed.clear()
  }

  /** Called before events of other nodes may be published whose apps are unknown. */
  noteReceived(): void {
    this.#hasReceivedEvents = true
  }

  /** Called when indexes or segments have changed. */
  noteIndexChange(): void {
    this.#counts.incrementSeals()
  }

  /**
   * The reader threads whose filters match new events, which are reset.
   * @param apps the hashes of the apps of new events
   */
  takeWakeups(readers: Iterable<number>, apps: ReadonlySet<number>): number[] {
    const changed = this.#hasReceivedEvents ? undefined : apps
    const woken = this.#hasNewEvents
      ? [...readers].filter((reader) => this.#counts.matchesWakeupFilter(reader, changed))
      : []
    this.#hasNewEvents = false
    this.#hasReceivedEvents = false
    return woken
  }
}
