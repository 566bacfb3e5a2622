import { limits } from '../../base/limits.ts'

/**
 * Decides when the store lists wanted blocks: from the start when something has changed, or at growing intervals while
 * nothing arrives, and the next ones when few are left.
 */
export class WantScan {
  #dueAt = Number.NEGATIVE_INFINITY
  #startedAt = Number.NEGATIVE_INFINITY
  #intervalMs: number = limits.minWantScanMs
  #isAtEnd = true
  /** The list that the store is making. */
  #pending: 'start' | 'next' | undefined
  /** Whether this scan has listed anything. */
  #isEmpty = true

  /** When the next scan starts. */
  get dueAt(): number {
    return this.#pending === undefined ? this.#dueAt : Number.POSITIVE_INFINITY
  }

  /** Starts a scan now, or shortly after the last one. */
  soon(now: number): void {
    this.#intervalMs = limits.minWantScanMs
    this.at(Math.max(now, this.#startedAt + limits.newWantScanMs))
  }

  /** Starts a scan no later than at a time. */
  at(time: number): void {
    this.#dueAt = Math.min(this.#dueAt, time)
  }

  /** A block has arrived: the interval is short again. */
  progress(): void {
    this.#intervalMs = limits.minWantScanMs
  }

  /** What the store has to list now, with the number of considered blocks that no peer was asked for. */
  next(waiting: number, now: number): 'start' | 'next' | undefined {
    if (this.#pending !== undefined) return undefined
    if (this.#dueAt <= now) {
      this.#pending = 'start'
      this.#startedAt = now
      this.#dueAt = Number.POSITIVE_INFINITY
      this.#isEmpty = true
    } else if (!this.#isAtEnd && waiting < limits.blockRequests) this.#pending = 'next'
    return this.#pending
  }

  /** The store has made a list. Returns which. */
  listed(isEnd: boolean, isEmpty: boolean, now: number): 'start' | 'next' | undefined {
    const from = this.#pending
    this.#pending = undefined
    this.#isAtEnd = isEnd
    if (!isEmpty) this.#isEmpty = false
    // Without wanted blocks the next scan starts when the store reports some.
    if (isEnd && !this.#isEmpty) {
      this.at(now + this.#intervalMs)
      this.#intervalMs = Math.min(this.#intervalMs * 2, limits.maxWantScanMs)
    }
    return from
  }
}
