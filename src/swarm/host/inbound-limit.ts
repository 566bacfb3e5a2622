import type { MultiaddrConnection } from '@libp2p/interface'
import { limits } from '../../base/limits.ts'
import { isLoopback } from './addresses.ts'

/**
 * Limits the inbound connections from one remote address, where several nodes may run, so that one machine cannot take
 * all connections. The own machine is exempt.
 */
export class InboundLimit {
  readonly #counts = new Map<string, number>()

  /** Whether a new connection is accepted. It counts until it is closed. */
  admit(connection: Pick<MultiaddrConnection, 'remoteAddr' | 'addEventListener'>): boolean {
    const { remoteAddr } = connection
    if (isLoopback(remoteAddr)) return true
    const host = remoteAddr.getComponents()[0]?.value ?? ''
    const count = this.#counts.get(host) ?? 0
    if (count >= limits.swarmConnectionsPerAddress) return false
    this.#counts.set(host, count + 1)
    connection.addEventListener('close', () => this.#release(host), { once: true })
    return true
  }

  /** Addresses with connections. */
  get size(): number {
    return this.#counts.size
  }

  #release(host: string): void {
    const count = (this.#counts.get(host) ?? 1) - 1
    if (count === 0) this.#counts.delete(host)
    else this.#counts.set(host, count)
  }
}
