import { lookup as resolveName } from 'node:dns/promises'
import type { ClientRequestArgs } from 'node:http'
import { connect as connectPlain, type LookupFunction, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectSecurely, type TLSSocket } from 'node:tls'
import { failure, messageOf, ShoalError, systemCode } from '../../base/errors.ts'
import { Agent } from '../../base/node-http.ts'
import { type NodeId, nodeOfCertificate, peerIdOf, publicKeyOf } from '../../identity/index.ts'
import { isLoopback } from '../../listening/listen.ts'
import type { Timers } from '../../runtime/timers.ts'
import type { AdminAddress } from './node-address.ts'

/** No connection could be made: nothing listens there, or there is no route. */
export class NotConnected extends ShoalError {
  override readonly name = 'NotConnected'

  constructor(at: string, reason: string) {
    super('ERR_NODE_UNREACHABLE', failure('ERR_NODE_UNREACHABLE', { cause: `${at}: ${reason}` }).message)
  }
}

/** The IP addresses of a host. */
export interface Resolved {
  readonly lookup: LookupFunction
  readonly isLoopback: boolean
}

export async function resolved({ host }: AdminAddress): Promise<Resolved> {
  try {
    const addresses = await resolveName(host, { all: true })
    return {
      // The socket dials them one after the other.
      lookup: (_host, _options, callback) => callback(null, addresses),
      isLoopback: addresses.every(({ address }) => isLoopback(address)),
    }
  } catch (error) {
    throw new ShoalError('ERR_INVALID_INPUT', `no addresses found for ${host}`, { cause: error })
  }
}

/** An HTTP agent whose connections are opened by a function. */
export class NodeAgent extends Agent {
  readonly #open: () => Promise<Socket>

  constructor(open: () => Promise<Socket>) {
    super({ keepAlive: true })
    this.#open = open
  }

  override createConnection(
    _options: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    this.#open().then(
      (socket) => callback?.(null, socket),
      (error) => callback?.(error, undefined as unknown as Duplex),
    )
    return undefined
  }
}

export interface ConnectOptions {
  readonly address: AdminAddress
  readonly lookup: LookupFunction
  readonly timeoutMs: number
  readonly timers: Timers
}

export function plainSocket({ address, lookup, ...waiting }: ConnectOptions): Promise<Socket> {
  const { host, port } = address
  return connected(connectPlain({ host, port, lookup }), 'connect', { address, ...waiting })
}

/** Connects with TLS. `check` gets the node that the certificate proves, before anything is sent. */
export async function secureSocket(
  { address, lookup, ...waiting }: ConnectOptions,
  check: (node: NodeId) => void,
): Promise<Socket> {
  const { host, port } = address
  // Certificates of nodes are self-signed: the node ID in them is checked instead of a CA.
  const socket = connectSecurely({ host, port, lookup, rejectUnauthorized: false, minVersion: 'TLSv1.3' })
  await connected(socket, 'secureConnect', { address, ...waiting })
  try {
    check(nodeAt(socket, address))
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

function nodeAt(socket: TLSSocket, address: AdminAddress): NodeId {
  const certificate = socket.getPeerX509Certificate()
  const node = certificate && nodeOfCertificate(certificate)
  if (node !== undefined) return node
  const cause = `${addressText(address)} has a certificate that no node has signed`
  throw failure('ERR_NODE_UNREACHABLE', { cause })
}

/** The error about a node that is not the expected one. */
export function wrongNode(address: AdminAddress, expected: NodeId, found: NodeId, hint = ''): ShoalError {
  const [wanted, other] = [expected, found].map((node) => peerIdOf(publicKeyOf(node)))
  const cause = `wrong PeerId at ${addressText(address)}: ${other} (node ID ${found}) instead of ${wanted}${hint}`
  return failure('ERR_NODE_UNREACHABLE', { cause })
}

export function addressText({ host, port }: AdminAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function connected<S extends Socket>(
  socket: S,
  event: 'connect' | 'secureConnect',
  { address, timers, timeoutMs }: Omit<ConnectOptions, 'lookup'>,
): Promise<S> {
  const at = addressText(address)
  return new Promise((resolve, reject) => {
    const timer = timers.setTimeout(() => socket.destroy(new Error('timeout')), timeoutMs)
    const failed = (error: Error): void => {
      timers.clear(timer)
      reject(new NotConnected(at, reasonOf(error)))
    }
    socket.once('error', failed)
    socket.once(event, () => {
      timers.clear(timer)
      socket.off('error', failed)
      resolve(socket)
    })
  })
}

/** The message of a failed connection. With several addresses, that of the first. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  return messageOf(error) || (systemCode(error) ?? 'failed')
}
