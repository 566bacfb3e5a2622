import { limits } from '../../base/limits.ts'
import { TokenBucket } from './token-bucket.ts'

/** What a peer has made this node do. */
export interface Charge {
  /** Signatures that were verified for nothing: what was sent has changed nothing here. */
  readonly inVain: number
  /** The name of a stream that was not stored before, whether it is stored now or refused. */
  readonly newStream: string | undefined
}

/** The budget that a peer has exceeded, as a reason to close its session. */
export type ExceededBudget = 'tooManyVerifications' | 'tooManyStreams'

const streamBits = 65_536

class PeerBudget {
  readonly #verifications: TokenBucket
  readonly #streams: TokenBucket
  /** A bit for each hash of a stream that was charged: a stream that is refused is sent again and again. */
  #charged: Uint8Array | undefined

  constructor(now: number) {
    const { verificationsInVain, verificationsInVainPerSecond, newStreamsPerHour } = limits
    this.#verifications = new TokenBucket(
      { capacity: verificationsInVain, perSecond: verificationsInVainPerSecond },
      now,
    )
    this.#streams = new TokenBucket({ capacity: newStreamsPerHour, perSecond: newStreamsPerHour / 3600 }, now)
  }

  charge({ inVain, newStream }: Charge, now: number): ExceededBudget | undefined {
    if (newStream !== undefined && this.#isFirst(newStream) && !this.#streams.take(1, now)) return 'tooManyStreams'
    return this.#verifications.take(inVain, now) ? undefined : 'tooManyVerifications'
  }

  #isFirst(stream: string): boolean {
    this.#charged ??= new Uint8Array(streamBits / 8)
    const bit = hashOf(stream) % streamBits
    const [index, mask] = [bit >> 3, 1 << (bit & 7)]
    const before = this.#charged[index] ?? 0
    this.#charged[index] = before | mask
    return (before & mask) === 0
  }
}

/**
 * Rate limits of what single peers make this node do for nothing. What stores new events is free: backpressure bounds
 * it. They outlive a session, so that connecting again does not renew them.
 */
export class PeerBudgets {
  /** In the order in which they were last charged. */
  readonly #budgets = new Map<string, PeerBudget>()

  /** Returns the budget that this exceeds. */
  charge(peer: string, charge: Charge, now: number): ExceededBudget | undefined {
    if (charge.inVain === 0 && charge.newStream === undefined) return undefined
    const budget = this.#budgets.get(peer) ?? new PeerBudget(now)
    this.#budgets.delete(peer)
    this.#budgets.set(peer, budget)
    for (const name of this.#budgets.keys()) {
      if (this.#budgets.size <= limits.budgetedPeers) break
      this.#budgets.delete(name)
    }
    return budget.charge(charge, now)
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
  return (hash ^ (hash >>> 16)) >>> 0
}
