import { createHash } from 'node:crypto'
import { limits } from '../../base/limits.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'

export interface Session {
  readonly publicKey: string
  /** Milliseconds of the monotonic clock. */
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
    for (const [name, { end }] of this.#open) if (end <= now) this.#open.delete(name)
    const own = [...this.#open].filter(([, session]) => session.publicKey === publicKey)
    const surplus = own.length >= limits.sessionsPerUser ? own : this.#open.size >= limits.sessions ? this.#open : []
    for (const [name] of surplus) {
      this.#open.delete(name)
      break
    }
    const token = this.#random.bytes(32).toString('base64url')
    this.#open.set(nameOf(token), { publicKey, end: now + limits.sessionMs, isRevoked: false })
    return token
  }

  /** The session of a token; undefined when there is none, or it has ended. */
  find(token: string): Session | undefined {
    const name = nameOf(token)
    const session = this.#open.get(name)
    if (session === undefined || session.end > this.#clock.steadyMs()) return session
    this.#open.delete(name)
    return undefined
  }

  /** Revokes the sessions of all other users: they stay revoked when a user is added again. */
  revokeExcept(users: readonly string[]): void {
    for (const [name, session] of this.#open)
      if (!users.includes(session.publicKey)) this.#open.set(name, { ...session, isRevoked: true })
  }

  end(token: string): void {
    this.#open.delete(nameOf(token))
  }
}

/** Tokens are looked up by their hash, so that the time it takes says nothing about them. */
function nameOf(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}
