import type { IncomingMessage } from 'node:http'
import type { Call, HttpResponse, Route, StreamedBody } from '../../api/index.ts'
import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { type NodeId, parseNodeId, peerIdOf, publicKeyOf } from '../../identity/index.ts'
import type { Relay } from '../relay.ts'
import type { Inspected } from './inspected.ts'
import { adminPath, countOf, invalid, parametersOf } from './requests.ts'

export interface OtherNodeParts {
  readonly relay: Relay
  /** Addresses and peers. */
  readonly inspect: () => Inspected
}

const path = `${adminPath}/nodes`
/** The header with the session token for the other node; `Authorization` has the one for this node. */
const tokenHeader = 'shoal-node-authorization'
const relayedRequestHeaders = ['accept', 'content-type', 'if-match']
const relayedResponseHeaders = ['cache-control', 'content-type', 'etag', 'retry-after', 'allow']

/**
 * Forwards requests to the admin port of another node of the swarm. That node authorizes them: they need a session on
 * it, and its list of authorized users counts.
 */
export function otherNodeRoutes({ relay, inspect }: OtherNodeParts): Route[] {
  const handle = async (call: Call): Promise<HttpResponse> => {
    const [name = '', ...rest] = call.path.slice(path.length + 1).split('/')
    const node = nodeIn(name)
    // No chains: a forwarded request is not forwarded again.
    if (rest[0] === 'nodes') throw failure('ERR_NOT_FOUND', {})
    const parameters = parametersOf(call)
    const port = countOf(parameters, 'adminPort', 4458, 65535)
    parameters.delete('adminPort')
    const hosts = hostsOf(node, inspect())
    const query = parameters.size === 0 ? '' : `?${parameters}`
    const body = await call.body(limits.relayedBodyBytes)
    const to = { node, hosts, port, method: call.method, path: `${adminPath}/${rest.join('/')}${query}` }
    const response = await relay.send({ ...to, headers: headersFor(call, body.length), body })
    const { statusCode: status = 502, headers } = response
    return { status, headers: named(headers, relayedResponseHeaders), body: new RelayedBody(response) }
  }
  const relayed = { authenticated: true, handle } as const
  const methods = { GET: relayed, PUT: relayed, POST: relayed, PATCH: relayed, DELETE: relayed }
  return [{ path: `${path}/*`, methods }]
}

function nodeIn(name: string): NodeId {
  try {
    return parseNodeId(decodeURIComponent(name))
  } catch {
    throw invalid(`'${name}' is not a node ID.`)
  }
}

/** The IP addresses at which the swarm knows a node. Only these are dialled, against server-side request forgery. */
function hostsOf(node: NodeId, { connections, knownPeers }: Inspected): string[] {
  const peer = peerIdOf(publicKeyOf(node))
  const connected = connections.filter(({ peerId }) => peerId === peer).map(({ addr }) => addr)
  const known = knownPeers.filter(({ peerId }) => peerId === peer).flatMap(({ addrs }) => addrs)
  const hosts = [...connected, ...known].flatMap((address) => /^\/ip[46]\/([^/]+)\//.exec(address)?.[1] ?? [])
  if (hosts.length > 0) return [...new Set(hosts)]
  throw failure('ERR_NODE_UNREACHABLE', { cause: `this node knows no address of the node ${node}` })
}

function headersFor({ request: { headers, socket } }: Call, length: number): Record<string, string | number> {
  const token = headers[tokenHeader]
  return {
    ...named(headers, relayedRequestHeaders),
    host: 'localhost',
    'content-length': length,
    // Marks the request as proxied: a node on this machine would take it for one of its owner, who may claim it.
    forwarded: `for="${socket.remoteAddress ?? 'unknown'}"`,
    ...(typeof token === 'string' && { authorization: token }),
  }
}

function named(headers: IncomingMessage['headers'], names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])))
}

class RelayedBody implements StreamedBody {
  readonly heldBytes = 64 * 1024
  readonly #response: IncomingMessage

  constructor(response: IncomingMessage) {
    this.#response = response
  }

  cancel(): void {
    this.#response.destroy()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#response as AsyncIterable<Buffer>) yield chunk
  }
}
