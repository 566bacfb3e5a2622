import { sourceOf } from './source.ts'

interface Tracked {
  readonly source: string
  hasSession: boolean
}

/**
 * Decides which connection the admin port evicts for a new one. A source can have half of all connections; beyond that
 * its own oldest connection without a session is evicted. When the last free connection is taken, the oldest one
 * without a session is evicted, so that the next client gets in. Connections with a session are never evicted.
 */
export class EvictionPolicy<C> {
  readonly #max: number
  readonly #share: number
  /** Oldest first. */
  readonly #open = new Map<C, Tracked>()
  readonly #perSource = new Map<string, number>()

  /** @param max connections that the port can have */
  constructor(max: number) {
    this.#max = max
    this.#share = Math.max(1, Math.floor(max / 2))
  }

  /** Adds a connection. Returns the one to evict for it, which may be itself. */
  opened(connection: C, address: string): C | undefined {
    const source = sourceOf(address)
    const fromSource = (this.#perSource.get(source) ?? 0) + 1
    this.#open.set(connection, { source, hasSession: false })
    this.#perSource.set(source, fromSource)
    const isBeyondShare = fromSource > this.#share
    if (!isBeyondShare && this.#open.size < this.#max) return undefined
    const evicted = this.#oldestWithoutSession(isBeyondShare ? source : undefined)
    if (evicted !== undefined) this.closed(evicted)
    return evicted
  }

  /** Records whether the last request over a connection had a session. */
  markSession(connection: C, hasSession: boolean): void {
    const tracked = this.#open.get(connection)
    if (tracked !== undefined) tracked.hasSession = hasSession
  }

  closed(connection: C): void {
    const tracked = this.#open.get(connection)
    if (tracked === undefined) return
    this.#open.delete(connection)
    const left = (this.#perSource.get(tracked.source) ?? 0) - 1
    if (left > 0) this.#perSource.set(tracked.source, left)
    else this.#perSource.delete(tracked.source)
  }

  #oldestWithoutSession(source: string | undefined): C | undefined {
    for (const [connection, tracked] of this.#open)
      if (!tracked.hasSession && (source === undefined || tracked.source === source)) return connection
    return undefined
  }
}
