import { limits } from '../base/limits.ts'
import type { Effect } from './effects.ts'
import type { Ping } from './messages.ts'
import type { Peer } from './peer.ts'
import { type SyncState, send } from './sync-state.ts'

/**
 * Finds out which peers are still there. A peer from which nothing was heard for a while is pinged; after several pings
 * without any message of it, it counts as silent.
 */
export class Liveness {
  readonly #state: SyncState
  #lastPing = 0
  /** No peer has to be looked at before it: what is heard only moves that time away. */
  #wakeAt = Number.POSITIVE_INFINITY

  constructor(state: SyncState) {
    this.#state = state
  }

  get wakeAt(): number {
    return this.#wakeAt
  }

  connected({ helloBy }: Peer): void {
    this.#wakeAt = Math.min(this.#wakeAt, helloBy)
  }

  /** A ping that also measures the round trip. */
  ping(peer: Peer, now: number): Effect {
    const id = ++this.#lastPing
    peer.ping = { id, sentAt: now }
    return send(peer.name, { is: 'ping', id })
  }

  pong(peer: Peer, { id }: Ping, now: number): void {
    if (peer.ping?.id !== id) return
    peer.roundTripMs = now - peer.ping.sentAt
    peer.ping = undefined
  }

  /** Pings the peers that were not heard, and returns those that have to be disconnected. */
  tick(now: number): { readonly pings: readonly Effect[]; readonly silent: readonly Peer[] } {
    const pings: Effect[] = []
    const silent: Peer[] = []
    if (this.#wakeAt > now) return { pings, silent }
    this.#wakeAt = Number.POSITIVE_INFINITY
    for (const peer of this.#state.peers.values()) {
      if (this.#dueAt(peer) <= now) {
        if (peer.hasWaitingInput) peer.heard(now)
        else if (!peer.isReady || peer.unansweredPings >= limits.unansweredPings) silent.push(peer)
        else {
          peer.unansweredPings++
          peer.pingedAt = now
          pings.push(this.ping(peer, now))
        }
      }
      this.#wakeAt = Math.min(this.#wakeAt, this.#dueAt(peer))
    }
    return { pings, silent }
  }

  /** This node itself stood still until now. What has arrived meanwhile is not read yet, so peers get time again. */
  stalled(now: number): void {
    for (const peer of this.#state.peers.values()) {
      peer.pingedAt = now
      peer.helloBy = now + limits.helloTimeoutMs
    }
  }

  #dueAt({ isReady, helloBy, heardAt, pingedAt, unansweredPings }: Peer): number {
    if (!isReady) return helloBy
    return unansweredPings === 0 ? heardAt + limits.pingIdleMs : pingedAt + this.#state.times.pingTimeoutMs
  }
}
