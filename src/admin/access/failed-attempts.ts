import { limits } from '../../base/limits.ts'
import type { Clock } from '../../runtime/clock.ts'
import { sourceOf } from './source.ts'

interface Failures {
  readonly count: number
  /** Milliseconds of the monotonic clock. */
  readonly at: number
}

/** Limits failed attempts to sign in: a leaky bucket per source. */
export class FailedAttempts {
  readonly #clock: Clock
  /** By source, the oldest failure first. */
  readonly #sources = new Map<string, Failures>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether an address has failed too often to try again now. */
  areTooMany(address: string): boolean {
    return this.#count(sourceOf(address)) >= limits.failedSignIns
  }

  add(address: string): void {
    const source = sourceOf(address)
    const count = this.#count(source) + 1
    this.#sources.delete(source)
    for (const oldest of this.#sources.keys()) {
      if (this.#sources.size < limits.failedSignInSources) break
      this.#sources.delete(oldest)
    }
    this.#sources.set(source, { count, at: this.#clock.steadyMs() })
  }

  #count(source: string): number {
    const failures = this.#sources.get(source)
    if (failures === undefined) return 0
    const leaked = Math.floor((this.#clock.steadyMs() - failures.at) / limits.failedSignInMs)
    return Math.max(0, failures.count - leaked)
  }
}
