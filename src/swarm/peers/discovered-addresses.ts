import { limits } from '../../base/limits.ts'
import type { Discovery } from './discovery.ts'

/** The published addresses of other nodes, the newest last: for a swarm thread that is started again. */
export class DiscoveredAddresses {
  readonly #addresses = new Map<string, Discovery>()

  take(discovery: Discovery): void {
    const { peer, origin, address, isNew } = discovery
    const key = `${peer} ${origin} ${address}`
    this.#addresses.delete(key)
    if (isNew) this.#addresses.set(key, discovery)
    for (const oldest of this.#addresses.keys()) {
      if (this.#addresses.size <= limits.discoveredAddresses) break
      this.#addresses.delete(oldest)
    }
  }

  all(): Iterable<Discovery> {
    return this.#addresses.values()
  }
}
