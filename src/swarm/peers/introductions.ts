import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'

/** A node, and the addresses at which it can be reached. */
export interface NodeAddresses {
  readonly peer: string
  readonly addresses: readonly string[]
}

/** What one peer is told about others. */
export interface Introduction {
  readonly to: string
  readonly nodes: readonly NodeAddresses[]
}

export interface IntroducedPeer {
  readonly peer: string
  /** Its addresses for a peer on this machine, or for one elsewhere. */
  readonly offered: (isOnThisMachine: boolean) => Iterable<string>
  readonly isOnThisMachine: boolean
}

/**
 * Introduces connected peers to each other that are not connected: each is told the addresses of the other. Changes are
 * gathered for a while, in which most of them find each other by themselves.
 */
export class Introductions {
  /** By connected peer: what it was told about others. */
  readonly #told = new Map<string, Map<string, string>>()
  #dueAt = Number.POSITIVE_INFINITY

  get dueAt(): number {
    return this.#dueAt
  }

  connected(peer: string, now: number): void {
    this.#told.set(peer, new Map())
    this.changed(now)
  }

  disconnected(peer: string, now: number): void {
    this.#told.delete(peer)
    // When it comes back, it is introduced again.
    for (const told of this.#told.values()) told.delete(peer)
    this.changed(now)
  }

  /** A peer was connected or disconnected, or has new addresses. */
  changed(now: number): void {
    this.#dueAt = Math.min(this.#dueAt, now + tuning.introductionDelayMs)
  }

  /** What to tell now. `areConnected` says whether a peer is known to be connected to another one. */
  take(
    peers: readonly IntroducedPeer[],
    areConnected: (peer: string, other: string) => boolean,
    now: number,
  ): Introduction[] {
    if (this.#dueAt > now) return []
    this.#dueAt = Number.POSITIVE_INFINITY
    return peers.flatMap((to) => {
      const told = this.#told.get(to.peer)
      if (told === undefined) return []
      const nodes = peers.slice(0, limits.swarmNodes).flatMap((about) => this.#news(to, about, told, areConnected))
      return nodes.length === 0 ? [] : [{ to: to.peer, nodes }]
    })
  }

  #news(
    to: IntroducedPeer,
    about: IntroducedPeer,
    told: Map<string, string>,
    areConnected: (peer: string, other: string) => boolean,
  ): NodeAddresses[] {
    const { peer } = about
    if (peer === to.peer || areConnected(to.peer, peer) || areConnected(peer, to.peer)) return []
    const offered = about.offered(to.isOnThisMachine && about.isOnThisMachine)
    const addresses = [...offered].slice(0, limits.addressesPerNode).sort()
    const news = addresses.join()
    if (news === '' || told.get(peer) === news) return []
    told.set(peer, news)
    return [{ peer, addresses }]
  }
}
