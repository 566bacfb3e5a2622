import { limits } from '../../base/limits.ts'

interface KeptOutPeer {
  readonly times: number
  readonly until: number
}

/** Peers that are kept out for a while, each time longer. */
export class KeptOut {
  /** In the order in which they were last kept out. */
  readonly #peers = new Map<string, KeptOutPeer>()

  /** Returns for how many milliseconds. */
  add(peer: string, now: number): number {
    const { minKeepOutMs, maxKeepOutMs, keptOutPeers } = limits
    const before = this.#peers.get(peer)
    this.#peers.delete(peer)
    // One that has behaved for long starts again with the shortest time.
    const times = before === undefined || now - before.until > maxKeepOutMs ? 1 : before.times + 1
    const ms = Math.min(maxKeepOutMs, minKeepOutMs * 2 ** Math.min(times - 1, 30))
    this.#peers.set(peer, { times, until: now + ms })
    for (const name of this.#peers.keys()) {
      if (this.#peers.size <= keptOutPeers) break
      this.#peers.delete(name)
    }
    return ms
  }

  /** Until when a peer is kept out; in the past, or undefined, when it is not. */
  until(peer: string): number | undefined {
    return this.#peers.get(peer)?.until
  }

  is(peer: string, now: number): boolean {
    return now < (this.until(peer) ?? 0)
  }
}
