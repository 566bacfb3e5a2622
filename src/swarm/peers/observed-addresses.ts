import { limits } from '../../base/limits.ts'
import { parseTcpAddress } from './address.ts'

/** Peers that have to name an address: one alone could make all nodes of the swarm dial any address. */
const witnesses = 2

/** Addresses at which peers have reached this node, and which it does not know itself: behind NAT. */
export class ObservedAddresses {
  /** By address, the newest last: the peers that have named it. */
  readonly #peers = new Map<string, Set<string>>()

  /** A peer has connected to this node at an address. */
  add(peer: string, text: string): void {
    const address = parseTcpAddress(text)
    if (address?.reach !== 'network') return
    const peers = this.#peers.get(address.text) ?? new Set()
    this.#peers.delete(address.text)
    this.#peers.set(address.text, peers)
    if (peers.size < witnesses) peers.add(peer)
    for (const oldest of this.#peers.keys()) {
      if (this.#peers.size <= limits.addressesPerNode) return
      this.#peers.delete(oldest)
    }
  }

  /** Those that enough peers have named, without the ones that are known anyway. */
  without(known: readonly string[]): string[] {
    const own = new Set(known.map((text) => parseTcpAddress(text)?.text))
    return [...this.#peers].flatMap(([text, peers]) => (peers.size >= witnesses && !own.has(text) ? [text] : []))
  }
}
