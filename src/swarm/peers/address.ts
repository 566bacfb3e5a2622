import { isIPv4, isIPv6, SocketAddress } from 'node:net'
import { limits } from '../../base/limits.ts'

/** An address at which a node may be reached by TCP. */
export interface TcpAddress {
  /** The multiaddr in one form, without peer ID. */
  readonly text: string
  readonly host: string
  /** `local` ones are of the machine itself; `link` ones mean something else on another link. */
  readonly reach: 'local' | 'link' | 'network'
}

type HostOf = Pick<TcpAddress, 'host' | 'reach'>

const pattern = /^(\/ip6zone\/[^/]+)?\/(ip4|ip6|dns|dns4|dns6)\/([^/]+)\/tcp\/(\d{1,5})$/

/** Parses a multiaddr of a TCP port, without peer ID. Undefined for all others, and for those that cannot be dialled. */
export function parseTcpAddress(text: string): TcpAddress | undefined {
  if (text.length > limits.addressBytes) return undefined
  const [, zone, protocol = '', name = '', port = ''] = pattern.exec(text) ?? []
  if (port === '' || Number(port) === 0 || Number(port) > 65_535) return undefined
  const found = hostOf(protocol, name, zone !== undefined)
  return found && { ...found, text: `${zone ?? ''}/${protocol}/${found.host}/tcp/${Number(port)}` }
}

function hostOf(protocol: string, name: string, hasZone: boolean): HostOf | undefined {
  if (protocol === 'ip6') return ip6(name, hasZone)
  if (hasZone) return undefined
  return protocol === 'ip4' ? ip4(name) : dns(name.toLowerCase())
}

function ip4(host: string): HostOf | undefined {
  if (!isIPv4(host)) return undefined
  const [first = 0, second] = host.split('.').map(Number)
  // Wildcards, multicast and broadcast.
  if (first === 0 || first >= 224) return undefined
  const isLink = first === 169 && second === 254
  return { host, reach: first === 127 ? 'local' : isLink ? 'link' : 'network' }
}

function ip6(text: string, hasZone: boolean): HostOf | undefined {
  if (!isIPv6(text) || text.includes('%')) return undefined
  const host = new SocketAddress({ address: text, family: 'ipv6' }).address
  // Wildcards, multicast, and those of IPv4, which have a form of their own.
  if (host === '::' || host.startsWith('ff') || host.includes('.')) return undefined
  if (host === '::1') return { host, reach: 'local' }
  const isLink = /^fe[89ab]/.test(host)
  // Without a zone it is not clear which link is meant.
  return isLink === hasZone ? { host, reach: isLink ? 'link' : 'network' } : undefined
}

function dns(host: string): HostOf | undefined {
  if (!/^[a-z0-9_]([a-z0-9._-]*[a-z0-9])?\.?$/.test(host)) return undefined
  return { host, reach: /(^|\.)localhost\.?$/.test(host) ? 'local' : 'network' }
}
