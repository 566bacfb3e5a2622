import type { ServerResponse } from 'node:http'
import type { Timers } from '../runtime/timers.ts'

interface Open {
  readonly user: string
  readonly token: string
}

/**
 * Responses in progress on the admin port. They are aborted when their session ends or their user is removed: otherwise
 * streams, and requests with a slow body, would outlive the session.
 */
export class OpenResponses {
  readonly #timers: Timers
  readonly #open = new Map<ServerResponse, Open>()
  /** Responses that are completed although their own request ends the session or removes the user. */
  readonly #spared = new WeakSet<ServerResponse>()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** @param endsInMs milliseconds until the session expires */
  add(response: ServerResponse, open: Open, endsInMs: number): void {
    if (this.#open.has(response)) return
    this.#open.set(response, open)
    const timer = this.#timers.setTimeout(() => response.destroy(), endsInMs).unref()
    response.once('close', () => {
      this.#timers.clear(timer)
      this.#open.delete(response)
    })
  }

  /** Exempts a response from being aborted. */
  spare(response: ServerResponse): void {
    this.#spared.add(response)
  }

  /** Aborts the responses to all other users. */
  keepOnly(users: readonly string[]): void {
    this.#end(({ user }) => !users.includes(user))
  }

  /** Aborts the responses of a session. */
  endSession(token: string): void {
    this.#end((open) => open.token === token)
  }

  #end(isOver: (open: Open) => boolean): void {
    for (const [response, open] of this.#open) if (isOver(open) && !this.#spared.has(response)) response.destroy()
  }
}
