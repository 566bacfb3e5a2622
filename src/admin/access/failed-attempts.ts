import { isIPv6 } from 'node:net'
import { limits } from '../../base/limits.ts'
import type { Clock } from '../../runtime/clock.ts'

interface Failures {
  readonly count: number
  /** Milliseconds of the monotonic clock. */
  readonly at: number
}

/** Counts failed attempts to sign in by address. The counts decrease with time. */
export class FailedAttempts {
  readonly #clock: Clock
  /** Oldest failure first. */
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
    const forgiven = Math.floor((this.#clock.steadyMs() - failures.at) / limits.failedSignInMs)
    return Math.max(0, failures.count - forgiven)
  }
}

/** One machine may have all addresses of an IPv6 network of 64 bits. */
function sourceOf(address: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`)
  const [head = '', tail] = hostname.slice(1, -1).split('::')
  const groups = head === '' ? [] : head.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  return [...groups, ...Array<string>(missing).fill('0'), ...(tail?.split(':') ?? [])].slice(0, 4).join(':')
}
