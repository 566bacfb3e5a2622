import type { IncomingMessage } from 'node:http'
import { connect, type TLSSocket } from 'node:tls'
import { failure, messageOf, ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { request } from '../base/node-http.ts'
import { type NodeId, nodeOfCertificate } from '../identity/index.ts'
import type { Timers } from '../runtime/timers.ts'

/** A request to the admin port of another node. */
export interface RelayedRequest {
  readonly node: NodeId
  /** IP addresses, tried one after the other. */
  readonly hosts: readonly string[]
  readonly port: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: Uint8Array
}

/**
 * Forwards requests to the admin ports of other nodes, over TLS only. Nothing is sent before the certificate proves the
 * node ID.
 */
export class Relay {
  readonly #timers: Timers
  #open = 0

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** Returns the response, whose body can be streamed. Its socket is closed with it. */
  async send(sent: RelayedRequest): Promise<IncomingMessage> {
    if (this.#open >= limits.relayedRequests) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#open++
    try {
      const socket = await this.#connect(sent)
      socket.once('close', () => this.#open--)
      return await this.#request(socket, sent)
    } catch (error) {
      // With a socket, its 'close' event does this.
      if (!(error instanceof FailedAfterConnect)) this.#open--
      throw failure('ERR_NODE_UNREACHABLE', { cause: messageOf(error) })
    }
  }

  async #connect({ node, hosts, port }: RelayedRequest): Promise<TLSSocket> {
    const reasons: string[] = []
    for (const host of hosts) {
      try {
        return await this.#dial(node, host, port)
      } catch (error) {
        reasons.push(`${host} port ${port}: ${messageOf(error)}`)
      }
    }
    throw new Error(reasons.join('; '))
  }

  async #dial(node: NodeId, host: string, port: number): Promise<TLSSocket> {
    // Certificates of nodes are self-signed: the node ID in them is checked instead of a CA.
    const socket = connect({ host, port, rejectUnauthorized: false, minVersion: 'TLSv1.3' })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = this.#timers.setTimeout(() => socket.destroy(new Error('timeout')), limits.relayMs)
    socket.once('secureConnect', resolve).on('error', reject)
    try {
      await promise
      const certificate = socket.getPeerX509Certificate()
      const found = certificate && nodeOfCertificate(certificate)
      if (found !== node) throw new Error(`it is not the node ${node}, but ${found ?? 'none'}`)
      return socket
    } catch (error) {
      socket.destroy()
      throw error
    } finally {
      this.#timers.clear(timer)
    }
  }

  #request(socket: TLSSocket, { method, path, headers, body }: RelayedRequest): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const outgoing = request({ createConnection: () => socket, method, path, headers })
    const timer = this.#timers.setTimeout(() => outgoing.destroy(new Error('timeout')), limits.relayMs)
    outgoing.once('response', (response) => {
      this.#timers.clear(timer)
      resolve(response.once('close', () => socket.destroy()))
    })
    outgoing.once('error', (error) => {
      this.#timers.clear(timer)
      socket.destroy()
      reject(new FailedAfterConnect(error.message))
    })
    outgoing.end(body)
    return promise
  }
}

/** A failure of a request whose socket was connected. */
class FailedAfterConnect extends ShoalError {
  constructor(cause: string) {
    super('ERR_NODE_UNREACHABLE', cause)
  }
}
