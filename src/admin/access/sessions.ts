import { createHash } from 'node:crypto'
import { limits } from '../../base/limits.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'

export interface Session {
  readonly publicKey: string
  /** Expiry, in milliseconds of the monotonic clock. */
  readonly end: number
  /** Whether its user was removed since it was opened. */
  readonly isRevoked: boolean
}

/** The open sessions of users, in memory: they end with the process. */
export class Sessions {
  readonly #clock: Clock
  readonly #random: Random
  /** By the hash of the token, oldest first. */
  readonly #open = new Map<string, Session>()

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = clock
    this.#random = random
  }

  /** Opens a session. Returns its token. */
  open(publicKey: string): string {
    const now = this.#clock.steadyMs()
    for (const [hash, { end }] of this.#open) if (end <= now) this.#open.delete(hash)
    this.#evictFor(publicKey)
    const token = this.#random.bytes(32).toString('base64url')
    this.#open.set(hashOf(token), { publicKey, end: now + limits.sessionMs, isRevoked: false })
    return token
  }

  /** Ends the oldest session of a user who has too many, or the oldest of all. */
  #evictFor(publicKey: string): void {
    const own = [...this.#open].filter(([, session]) => session.publicKey === publicKey)
    const tooMany = own.length >= limits.sessionsPerUser ? own : this.#open.size >= limits.sessions ? this.#open : []
    const [oldest] = tooMany
    if (oldest !== undefined) this.#open.delete(oldest[0])
  }

  /** The session of a token; undefined when there is none, or it has ended. */
  find(token: string): Session | undefined {
    const hash = hashOf(token)
    const session = this.#open.get(hash)
    if (session === undefined || session.end > this.#clock.steadyMs()) return session
    this.#open.delete(hash)
    return undefined
  }

  /** Revokes the sessions of all other users. They stay revoked when such a user is added again. */
  revokeExcept(users: readonly string[]): void {
    for (const [hash, session] of this.#open)
      if (!users.includes(session.publicKey)) this.#open.set(hash, { ...session, isRevoked: true })
  }

  end(token: string): void {
    this.#open.delete(hashOf(token))
  }
}

/** Tokens are looked up by their hash, against timing attacks. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}
