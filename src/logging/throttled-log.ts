import { limits } from '../base/limits.ts'
import type { Timer, Timers } from '../runtime/timers.ts'

/** Writes one kind of log line. */
export interface ThrottledLine {
  /** Writes the first line. */
  first(): void
  /** Writes the number of suppressed lines since. */
  more(count: number): void
}

/**
 * Throttles log lines that clients cause. The first line of a kind is written at once, repeated ones as one count per
 * interval. A kind is forgotten after an interval without a line. The number of kinds is bounded; further kinds share
 * one count.
 */
export class ThrottledLog {
  readonly #timers: Timers
  readonly #intervalMs: number
  readonly #kinds = new Map<string, { count: number; line: ThrottledLine }>()
  readonly #others: (count: number) => void
  #otherCount = 0
  #timer: Timer | undefined

  /** `others` writes the count of lines of the kinds beyond the limit. */
  constructor(others: (count: number) => void, timers: Timers, intervalMs: number = limits.throttledLogMs) {
    this.#others = others
    this.#timers = timers
    this.#intervalMs = intervalMs
  }

  add(kind: string, line: ThrottledLine): void {
    this.#timer ??= this.#timers.setInterval(() => this.#summarise(), this.#intervalMs).unref()
    const known = this.#kinds.get(kind)
    if (known !== undefined) {
      known.count++
      known.line = line
    } else if (this.#kinds.size >= limits.throttledLogKinds) {
      this.#otherCount++
    } else {
      this.#kinds.set(kind, { count: 0, line })
      line.first()
    }
  }

  #summarise(): void {
    for (const [kind, seen] of this.#kinds) {
      if (seen.count === 0) this.#kinds.delete(kind)
      else seen.line.more(seen.count)
      seen.count = 0
    }
    if (this.#otherCount > 0) this.#others(this.#otherCount)
    this.#otherCount = 0
    if (this.#kinds.size > 0) return
    this.#timers.clear(this.#timer)
    this.#timer = undefined
  }
}
