import type { ServerResponse } from 'node:http'
import type { Timers } from '../runtime/timers.ts'

interface Open {
  readonly user: string
  readonly token: string
}

/**
 * The requests of users that are being answered. They end with the right of their user, and with their session: streams
 * would outlive it, and so would a request whose body comes slowly.
 */
export class OpenResponses {
  readonly #timers: Timers
  readonly #open = new Map<ServerResponse, Open>()
  /** Those by which a user changes who has access, or signs out: they get their answer. */
  readonly #spared = new WeakSet<ServerResponse>()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** @param endsInMs when the session ends by itself */
  add(response: ServerResponse, open: Open, endsInMs: number): void {
    if (this.#open.has(response)) return
    this.#open.set(response, open)
    const timer = this.#timers.setTimeout(() => response.destroy(), endsInMs).unref()
    response.once('close', () => {
      this.#timers.clear(timer)
      this.#open.delete(response)
    })
  }

  spare(response: ServerResponse): void {
    this.#spared.add(response)
  }

  /** Breaks off the responses to all other users. */
  keepOnly(users: readonly string[]): void {
    this.#end(({ user }) => !users.includes(user))
  }

  /** Breaks off the responses of a session. */
  endSession(token: string): void {
    this.#end((open) => open.token === token)
  }

  #end(isOver: (open: Open) => boolean): void {
    for (const [response, open] of this.#open) if (isOver(open) && !this.#spared.has(response)) response.destroy()
  }
}
