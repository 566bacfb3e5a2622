import { isIP, isIPv6 } from 'node:net'
import { ShoalError } from '../base/errors.ts'
import { type Endpoint, type ListenerName, socketText } from '../listening/listen.ts'

/** How the bind option of a component is parsed. */
export interface BindRule extends ListenerName {
  readonly defaultPort: number
  /** The addresses for a port without a host. */
  readonly barePort: readonly string[]
}

const loopback = ['127.0.0.1', '::1']

/** API and admin port bind to loopback unless a host is given; the swarm port must be reachable for other nodes. */
export const bindRules = {
  api: { component: 'API', option: '--bind-api', defaultPort: 4454, barePort: ['127.0.0.1'] },
  admin: { component: 'Admin', option: '--bind-admin', defaultPort: 4458, barePort: loopback },
  swarm: { component: 'Swarm', option: '--bind-swarm', defaultPort: 4001, barePort: ['0.0.0.0', '::'] },
} as const satisfies Record<string, BindRule>

/** Default values of the bind options. */
export const bindDefaults = { api: 'localhost', admin: 'localhost', swarm: '4001' } as const

/** Parses the values of one bind option: ports, hosts, `host:port` or `/ip4/…/tcp/…`. */
export function parseBinds(specs: readonly string[], rule: BindRule): Endpoint[] {
  const parsed = specs.map((spec) => parseSpec(spec, rule))
  const barePorts = parsed.filter(({ host }) => host === undefined).length
  if (barePorts > 1) throw invalid(rule, 'Multiple single port directives not supported')
  if (barePorts > 0 && parsed.length > barePorts)
    throw invalid(rule, 'Both port directive and host:port combination not supported')
  return parsed.flatMap(({ host, port, family }) =>
    endpoints(host, port, rule).map((endpoint) => ({ ...endpoint, ...(family !== undefined && { family }) })),
  )
}

/** The same addresses with port 0, for which the system picks a free one. */
export function onFreePorts(endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints.map((endpoint) => ({ ...endpoint, port: 0 }))
}

/**
 * Throws when two components have the same address and port. Otherwise the operating system would refuse the second one
 * as if another process had the port.
 */
export function checkDistinct(endpoints: Readonly<Record<keyof typeof bindRules, readonly Endpoint[]>>): void {
  const all = (Object.keys(bindRules) as (keyof typeof bindRules)[]).flatMap((name) =>
    endpoints[name].map((endpoint) => ({ ...endpoint, option: bindRules[name].option })),
  )
  for (const [i, one] of all.entries()) {
    const other = all.slice(i + 1).find((later) => later.option !== one.option && overlaps(one, later))
    if (other === undefined) continue
    const [first, second] = [one, other].map(({ host, port }) => socketText({ address: host, port }))
    const what = first === second ? `both name ${first}` : `overlap: ${first} and ${second}`
    const message = `${one.option} and ${other.option} ${what}. Each needs an address of its own; choose another port for one of them.`
    throw new ShoalError('ERR_INVALID_INPUT', message)
  }
}

/** Whether two endpoints conflict: a wildcard address takes its port on all addresses of its family. */
function overlaps(one: Endpoint, other: Endpoint): boolean {
  if (one.port !== other.port || one.port === 0) return false
  const [a, b] = [one.host.toLowerCase(), other.host.toLowerCase()]
  if (a === b) return true
  return isIP(a) === isIP(b) && [a, b].some((host) => host === '0.0.0.0' || host === '::')
}

interface Spec {
  host: string | undefined
  port: number
  family?: 4 | 6
}

function endpoints(host: string | undefined, port: number, { barePort }: BindRule): Endpoint[] {
  if (host !== undefined && host.toLowerCase() !== 'localhost') return [{ host, port }]
  // The first address is required, the second one only on a machine with IPv6.
  const [first = '127.0.0.1', ...others] = host === undefined ? barePort : loopback
  return [{ host: first, port }, ...others.map((other) => ({ host: other, port, optional: true }))]
}

function parseSpec(spec: string, rule: BindRule): Spec {
  if (spec.startsWith('/')) return parseMultiaddress(spec, rule)
  if (/^[0-9]+$/.test(spec)) return { host: undefined, port: parsePort(spec, rule) }
  if (isIPv6(spec)) return { host: spec, port: rule.defaultPort }
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/.exec(spec) ?? []
  const host = bracketed ?? plain ?? ''
  if (bracketed !== undefined ? !isIPv6(bracketed) : !isHost(host)) throw invalid(rule, `'${spec}' is not a host`)
  return { host, port: port === undefined ? rule.defaultPort : parsePort(port, rule) }
}

function parseMultiaddress(spec: string, rule: BindRule): Spec {
  const [, protocol, host = '', port = ''] = /^\/(ip4|ip6|dns|dns4|dns6)\/([^/]+)\/tcp\/([^/]+)$/.exec(spec) ?? []
  const fits = protocol === 'ip4' ? isIP(host) === 4 : protocol === 'ip6' ? isIP(host) === 6 : isHost(host)
  if (protocol === undefined || !fits)
    throw invalid(rule, `'${spec}' is not a TCP multiaddress like /ip4/127.0.0.1/tcp/4454`)
  const family = { dns4: 4, dns6: 6 }[protocol] as 4 | 6 | undefined
  return { host, port: parsePort(port, rule), ...(family !== undefined && { family }) }
}

function parsePort(text: string, rule: BindRule): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65535)) throw invalid(rule, `'${text}' is not a port: 0 to 65535`)
  return port
}

function isHost(text: string): boolean {
  return isIP(text) === 4 || (/^[a-zA-Z0-9_]([a-zA-Z0-9_.-]*[a-zA-Z0-9_])?\.?$/.test(text) && !/^[0-9.]+$/.test(text))
}

function invalid({ option }: BindRule, cause: string): ShoalError {
  const forms = 'a port, a host, host:port or /ip4/…/tcp/…'
  return new ShoalError('ERR_INVALID_INPUT', `${option}: ${cause}. Allowed are ${forms}.`)
}
