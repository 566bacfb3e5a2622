import { assert } from '../../base/assert.ts'

export interface TokenBucketOptions {
  /** Tokens of a full bucket: what may be taken at once. */
  readonly capacity: number
  /** Tokens that are added per second. */
  readonly perSecond: number
}

/** A rate limit with bursts. Times are milliseconds of a monotonic clock. */
export class TokenBucket {
  readonly #options: TokenBucketOptions
  #tokens: number
  #at: number

  constructor(options: TokenBucketOptions, now: number) {
    this.#options = options
    this.#tokens = options.capacity
    this.#at = now
  }

  /** Takes tokens, if there are enough of them. */
  take(count: number, now: number): boolean {
    assert(count >= 0, 'tokens are not returned')
    const { capacity, perSecond } = this.#options
    this.#tokens = Math.min(capacity, this.#tokens + (Math.max(0, now - this.#at) / 1000) * perSecond)
    this.#at = Math.max(this.#at, now)
    if (count > this.#tokens) return false
    this.#tokens -= count
    return true
  }
}
