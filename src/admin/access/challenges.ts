import { createHmac, timingSafeEqual } from 'node:crypto'
import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'

const nonceBytes = 16
const endBytes = 8
const macBytes = 32

/**
 * The transport of a connection. Only TLS proves which node answers, so a signature that was made over plain HTTP must
 * not be valid over TLS: each challenge begins with its transport.
 */
export type Transport = 'loopback' | 'tls'

/**
 * Challenges for users who sign in. They are stateless: a challenge carries its expiry and an HMAC with a secret of the
 * process, so that requesting many of them takes no memory. Used ones are remembered until they expire, against replay.
 */
export class Challenges {
  readonly #clock: Clock
  readonly #random: Random
  readonly #secret: Buffer
  /** Nonces of used challenges, with their expiry in milliseconds of the monotonic clock. */
  readonly #used = new Map<string, number>()

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = clock
    this.#random = random
    this.#secret = random.bytes(32)
  }

  /** A new challenge for the holder of a key. */
  issue(publicKey: string, transport: Transport): string {
    const head = Buffer.alloc(nonceBytes + endBytes)
    this.#random.bytes(nonceBytes).copy(head)
    head.writeDoubleBE(this.#clock.steadyMs() + limits.challengeMs, nonceBytes)
    return `${transport}.${Buffer.concat([head, this.#mac(head, publicKey, transport)]).toString('base64url')}`
  }

  /** Whether a challenge was issued for a key and a transport, and is neither expired nor used. */
  isOpen(publicKey: string, challenge: string, transport: Transport): boolean {
    const parsed = this.#parse(publicKey, challenge, transport)
    return parsed !== undefined && parsed.end > this.#clock.steadyMs() && !this.#used.has(parsed.nonce)
  }

  /** Uses up a challenge; false when it is not open. */
  use(publicKey: string, challenge: string, transport: Transport): boolean {
    const parsed = this.#parse(publicKey, challenge, transport)
    if (parsed === undefined || !this.isOpen(publicKey, challenge, transport)) return false
    if (this.#used.size >= limits.usedChallenges) this.#forgetExpired()
    // Forgetting one before it expires would allow a replay.
    if (this.#used.size >= limits.usedChallenges) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#used.set(parsed.nonce, parsed.end)
    return true
  }

  #forgetExpired(): void {
    const now = this.#clock.steadyMs()
    for (const [nonce, end] of this.#used) if (end <= now) this.#used.delete(nonce)
  }

  #parse(
    publicKey: string,
    challenge: string,
    transport: Transport,
  ): { readonly nonce: string; readonly end: number } | undefined {
    if (!challenge.startsWith(`${transport}.`)) return undefined
    const text = challenge.slice(transport.length + 1)
    const bytes = Buffer.from(text, 'base64url')
    if (bytes.length !== nonceBytes + endBytes + macBytes || bytes.toString('base64url') !== text) return undefined
    const head = bytes.subarray(0, nonceBytes + endBytes)
    if (!timingSafeEqual(bytes.subarray(head.length), this.#mac(head, publicKey, transport))) return undefined
    return { nonce: head.toString('latin1', 0, nonceBytes), end: head.readDoubleBE(nonceBytes) }
  }

  #mac(head: Buffer, publicKey: string, transport: Transport): Buffer {
    return createHmac('sha256', this.#secret).update(head).update(`${transport} ${publicKey}`).digest()
  }
}
