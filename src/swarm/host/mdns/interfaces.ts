import { networkInterfaces } from 'node:os'
import { multiaddr } from '@multiformats/multiaddr'

/** A network interface with its addresses. */
export interface Interface {
  readonly name: string
  readonly ip4: readonly string[]
  readonly ip6: readonly string[]
}

/** The interfaces of this machine that are up and have an address, the loopback interface included. */
export function listInterfaces(): Interface[] {
  return Object.entries(networkInterfaces()).map(([name, addresses = []]) => ({
    name,
    ip4: addresses.filter(({ family }) => family === 'IPv4').map(({ address }) => address),
    ip6: addresses.filter(({ family }) => family === 'IPv6').map(({ address }) => address),
  }))
}

/** Of the addresses that a node listens at, those of an interface: others may not be reachable through it. */
export function addressesOn({ ip4, ip6 }: Interface, listening: readonly string[]): string[] {
  const own = new Set([...ip4, ...ip6])
  return listening.filter((address) => {
    const [ip] = multiaddr(address).getComponents()
    return own.has(ip?.value ?? '')
  })
}
