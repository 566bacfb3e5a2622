import { sourceOf } from './source.ts'

interface Place {
  readonly source: string
  hasSession: boolean
}

/**
 * Which connections the admin port keeps. A client address has a share of the port, and one place stays free: for it
 * the oldest connection without a session is closed. Connections with a session are kept.
 */
export class PortPlaces<C> {
  readonly #max: number
  readonly #share: number
  /** Oldest first. */
  readonly #open = new Map<C, Place>()
  readonly #perSource = new Map<string, number>()

  /** @param max connections that the port can have */
  constructor(max: number) {
    this.#max = max
    this.#share = Math.max(1, Math.floor(max / 2))
  }

  /** Adds a connection. Returns the one to close for it, which may be itself. */
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

  /** Notes whether the last request over a connection had a session. */
  asked(connection: C, hasSession: boolean): void {
    const place = this.#open.get(connection)
    if (place !== undefined) place.hasSession = hasSession
  }

  closed(connection: C): void {
    const place = this.#open.get(connection)
    if (place === undefined) return
    this.#open.delete(connection)
    const left = (this.#perSource.get(place.source) ?? 0) - 1
    if (left > 0) this.#perSource.set(place.source, left)
    else this.#perSource.delete(place.source)
  }

  #oldestWithoutSession(source: string | undefined): C | undefined {
    for (const [connection, place] of this.#open)
      if (!place.hasSession && (source === undefined || place.source === source)) return connection
    return undefined
  }
}
