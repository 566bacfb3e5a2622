import { lookup } from 'node:dns/promises'
import { type AddressInfo, isIPv6, type Server } from 'node:net'
import { assert } from '../base/assert.ts'
import { failure, messageOf, ShoalError, systemCode } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { ComponentName } from '../observability/health.ts'

/** An address or host name to listen on, with a port; port 0 picks a free one. */
export interface Endpoint {
  readonly host: string
  readonly port: number
  /** An optional address may be unavailable: `::1` on a machine without IPv6. */
  readonly optional?: boolean
  /** Restricts name resolution to one address family. */
  readonly family?: 4 | 6
}

export interface Listening {
  readonly address: string
  readonly port: number
}

/** The component and its command-line option, for error messages. */
export interface ListenerName {
  readonly component: Exclude<ComponentName, 'Events'>
  readonly option: string
}

/** Listens on all endpoints, with one server each, for its IP address. If one fails, all are closed. */
export async function listenOnAll<S extends Server>(
  endpoints: readonly Endpoint[],
  listener: ListenerName,
  makeServer: (endpoint: Endpoint) => S,
): Promise<{ servers: S[]; bound: Listening[] }> {
  const servers: S[] = []
  const bound: Listening[] = []
  try {
    for (const endpoint of await resolveEndpoints(endpoints, listener)) {
      const server = makeServer(endpoint)
      const listening = await listenOn(server, endpoint, listener)
      if (listening === undefined) continue
      servers.push(server)
      bound.push(listening)
    }
    if (servers.length === 0) throw new ShoalError('ERR_IO', `${listener.component} has no address to listen on.`)
    return { servers, bound }
  } catch (error) {
    for (const server of servers) server.close()
    throw error
  }
}

/** Whether an IP address is reached from this machine only. */
export function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\./i.test(address) || address === '::1'
}

export function socketText({ address, port }: Listening): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`
}

export function multiaddressText({ address, port }: Listening): string {
  return `/${isIPv6(address) ? 'ip6' : 'ip4'}/${address}/tcp/${port}`
}

/** Resolves host names to IP addresses. */
export async function resolveEndpoints(endpoints: readonly Endpoint[], listener: ListenerName): Promise<Endpoint[]> {
  const resolved: Endpoint[] = []
  for (const endpoint of endpoints) {
    try {
      const addresses = await lookup(endpoint.host, { all: true, family: endpoint.family ?? 0 })
      resolved.push(...addresses.map(({ address }) => ({ ...endpoint, host: address })))
    } catch (error) {
      const { component, option } = listener
      const cause = `${component} cannot listen on ${endpoint.host}: ${messageOf(error)}. See ${option}.`
      throw new ShoalError('ERR_IO', cause, { cause: error })
    }
  }
  // A name can resolve to the same address twice.
  return resolved.filter(
    ({ host, port }, i) =>
      port === 0 || resolved.findIndex((other) => other.host === host && other.port === port) === i,
  )
}

/** Starts a server. Returns its address, or undefined when an optional address is unavailable. */
async function listenOn(server: Server, endpoint: Endpoint, listener: ListenerName): Promise<Listening | undefined> {
  const { host, port, optional } = endpoint
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port, ipv6Only: true, backlog: limits.listenBacklog }, () => {
        server.off('error', reject)
        resolve()
      })
    })
  } catch (error) {
    const code = systemCode(error)
    if (optional === true && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')) return undefined
    throw listenError(error, endpoint, listener)
  }
  const address = server.address()
  assert(address !== null && typeof address === 'object', 'a listening server has an address')
  return { address: address.address, port: (address satisfies AddressInfo).port }
}

function listenError(error: unknown, { host, port }: Endpoint, { component, option }: ListenerName): ShoalError {
  const address = socketText({ address: host, port })
  if (systemCode(error) === 'EADDRINUSE')
    return failure('ERR_PORT_COLLISION', { component, address, port, option }, { cause: error })
  const hint = systemCode(error) === 'EACCES' ? ' Ports below 1024 need special rights.' : ''
  const cause = `${component} cannot listen on ${address}.${hint} Choose another address with ${option}.`
  return new ShoalError('ERR_IO', cause, { cause: error })
}
