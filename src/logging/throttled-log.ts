import { limits } from '../base/limits.ts'
import type { Timer, Timers } from '../runtime/timers.ts'

/** How one kind of line is written. */
export interface ThrottledLine {
  /** Writes the first one. */
  first(): void
  /** Writes how many more there were since. */
  more(count: number): void
}

/**
 * Bounds log lines that clients cause: the first of a kind is written at once, those after it as one count a minute. A
 * kind is new again after a minute without any. Kinds are bounded too; what exceeds them is one count of its own.
 */
export class ThrottledLog {
  readonly #timers: Timers
  readonly #intervalMs: number
  readonly #kinds = new Map<string, { count: number; line: ThrottledLine }>()
  readonly #others: (count: number) => void
  #otherCount = 0
  #timer: Timer | undefined

  /** `others` writes the count of lines that were of too many kinds. */
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
