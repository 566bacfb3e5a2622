import { createServer } from 'node:net'
import type { PeerId } from '@libp2p/interface'
import { CODE_P2P, type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { type Listening, listenOnAll, multiaddressText } from '../../listening/listen.ts'
import { DialFailure } from './dial-failure.ts'

export interface ListenEndpoint {
  /** An IPv4 or IPv6 address. */
  readonly host: string
  readonly port: number
  /** An optional address may be unavailable: `::` on a machine without IPv6. */
  readonly optional?: boolean
}

/** The name of a peer: its Ed25519 public key as latin1; undefined for other kinds of keys. */
export function nameOfPeer(peer: PeerId): string | undefined {
  return peer.type === 'Ed25519' ? Buffer.from(peer.publicKey.raw).toString('latin1') : undefined
}

/** An address as text, without peer ID. */
export function addressText(address: Multiaddr): string {
  return address.decapsulateCode(CODE_P2P).toString()
}

/** Parses an address, and removes its peer ID. Throws a `DialFailure`. */
export function dialAddress(text: string): Multiaddr {
  try {
    return multiaddr(text).decapsulateCode(CODE_P2P)
  } catch {
    throw new DialFailure(`'${text}' is not a multiaddress`)
  }
}

export function isLoopback(address: Multiaddr): boolean {
  const [ip] = address.getComponents()
  if (ip?.name === 'ip4') return ip.value?.startsWith('127.') === true
  return ip?.name === 'ip6' && ip.value === '::1'
}

/**
 * The addresses to listen on. libp2p does not tell why it cannot listen, so fixed ports are tried first, for an error in
 * words. Optional addresses that are not available are left out.
 */
export async function availableEndpoints(endpoints: readonly ListenEndpoint[]): Promise<string[]> {
  const tried = endpoints.filter(({ port, optional }) => port !== 0 || optional === true)
  const found: Listening[] = endpoints
    .filter((endpoint) => !tried.includes(endpoint))
    .map(({ host, port }) => ({ address: host, port }))
  if (tried.length > 0) {
    const makeServer = () => createServer((socket) => socket.destroy())
    const { servers, bound } = await listenOnAll(tried, { component: 'Swarm', option: '--bind-swarm' }, makeServer)
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    found.push(...bound)
  }
  return found.map(multiaddressText)
}
