import { isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import { ShoalError } from '../base/errors.ts'

/** The default port of the API. */
const apiPort = 4454

/** Host and optional port, as a URL or without a scheme. A trailing slash is ignored. */
const authority = /^(?:(https?):\/\/)?(\[[0-9a-f:.]+\]|[^:/?#@\s[\]]+)(?::(\d{1,5}))?\/?$/i
const multiaddress = /^\/(?:ip4|ip6|dns|dns4|dns6)\/([^/]+)\/tcp\/(\d{1,5})\/?$/

/** The URL of a node's API from `--node`: `host`, `host:port`, a port, a URL or a multiaddress. */
export function nodeUrl(text: string): string {
  const [host, port] = hostAndPort(text)
  const url = URL.canParse(`http://${host}:${port}`) ? new URL(`http://${host}:${port}`) : undefined
  if (url === undefined)
    throw invalid('--node', text, 'not a node address', 'host, host:port or http://host:port, like localhost:4454')
  return `http://${url.hostname}:${port}`
}

function hostAndPort(text: string): [host: string, port: number | string] {
  if (/^\d{1,5}$/.test(text)) return ['localhost', text]
  if (isIPv6(text)) return [`[${text}]`, apiPort]
  const [, address, multiPort] = multiaddress.exec(text) ?? []
  if (address !== undefined) return [isIPv6(address) ? `[${address}]` : address, multiPort ?? apiPort]
  const [, scheme, host = '', port] = authority.exec(text) ?? []
  if (scheme?.toLowerCase() === 'https')
    throw new ShoalError('ERR_INVALID_INPUT', `--node: '${text}' is HTTPS, and the API of a node is plain HTTP.`)
  return [host, port ?? apiPort]
}

/** The host name in the value of an option. A port is ignored: the Host header is checked without it. */
export function hostName(option: string, text: string): string {
  const [, , host = ''] = authority.exec(text) ?? []
  const name = host.startsWith('[') ? host.slice(1, -1) : domainToASCII(host.replace(/\.$/, ''))
  if (!/^[a-z0-9_.:-]+$/.test(name))
    throw invalid(option, text, 'not a host name', 'a name like node.example.com, or name:port')
  return name
}

/** An origin as browsers send it. It is compared literally, so a path or a missing scheme would never match. */
export function originText(option: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:'
  if (isWeb && url?.pathname === '/' && url.search === '' && url.hash === '' && url.username === '') return url.origin
  // Apps in a native WebView have custom schemes, like capacitor://localhost.
  if (text === 'null' || (!isWeb && /^[a-z][a-z0-9+.-]*:\/\/[^/\s]+$/.test(text))) return text
  throw invalid(option, text, 'not an origin', 'scheme and host, like https://app.example.com')
}

function invalid(option: string, text: string, problem: string, allowed: string): ShoalError {
  return new ShoalError('ERR_INVALID_INPUT', `${option}: '${text}' is ${problem}. Allowed: ${allowed}.`)
}
