import { isIPv6 } from 'node:net'
import { ShoalError } from '../../base/errors.ts'
import { type NodeId, nodeIdOf, parsePeerId } from '../../identity/index.ts'

/** The address of the admin port of a node. */
export interface AdminAddress {
  /** Without a scheme, TLS, but on loopback plain HTTP first. */
  readonly scheme: 'http' | 'https' | undefined
  readonly host: string
  readonly port: number
  /** The node that has to answer, if the address names it. */
  readonly node: NodeId | undefined
}

/** How a command names a node: its data folder on this machine, or its admin port. */
export type NodeAddress = { readonly folder: string } | AdminAddress

const defaultPort = 4458

const multiaddress = /^\/(ip4|ip6|dns|dns4|dns6)\/([^/]+)\/tcp\/(\d{1,5})(?:\/p2p\/([^/]+))?\/?$/
const authority = /^(?:(https?):\/\/)?(?:\[([0-9a-f:.]+)\]|([^:/?#@\s[\]]+))(?::(\d{1,5}))?\/?$/i

/** Understands a URL, a multiaddress, `host`, `host:port`, and a data folder, which is a path or exists. */
export function parseNodeAddress(text: string, isDataFolder: (path: string) => boolean): NodeAddress {
  const [, , multiHost, multiPort, peer] = multiaddress.exec(text) ?? []
  if (multiHost !== undefined)
    return { scheme: undefined, host: multiHost, port: portOf(text, multiPort), node: nodeOf(text, peer) }
  const isUrl = /^https?:\/\//i.test(text)
  const isPath = text === '.' || text === '..' || /[/\\]/.test(text)
  if (!isUrl && text !== '' && (isPath || isDataFolder(text))) return { folder: text }
  if (isIPv6(text)) return { scheme: undefined, host: text, port: defaultPort, node: undefined }
  const [, scheme, bracketed, plain, port] = authority.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined || (bracketed !== undefined && !isIPv6(bracketed))) throw notAnAddress(text)
  return {
    scheme: scheme?.toLowerCase() as AdminAddress['scheme'],
    host,
    port: portOf(text, port),
    node: undefined,
  }
}

function portOf(text: string, port: string | undefined): number {
  const number = port === undefined ? defaultPort : Number(port)
  if (number < 1 || number > 65535) throw notAnAddress(text)
  return number
}

function nodeOf(text: string, peer: string | undefined): NodeId | undefined {
  if (peer === undefined) return undefined
  try {
    return nodeIdOf(parsePeerId(peer))
  } catch {
    throw notAnAddress(text)
  }
}

function notAnAddress(text: string): ShoalError {
  return new ShoalError('ERR_INVALID_INPUT', `cannot interpret ${text} as address`)
}
