import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { request } from '../../base/node-http.ts'
import { adminSignInMessage, formatPublicKey, type KeyPair, type NodeId } from '../../identity/index.ts'
import type { Timers } from '../../runtime/timers.ts'
import { verbose } from '../output/verbose.ts'
import type { KnownNodes } from './known-nodes.ts'
import { ConnectionLost, lostResponse, notANode } from './lost-response.ts'
import type { AdminAddress } from './node-address.ts'
import { bodyOf, type NodeClient, type NodeRequest, refusalOf } from './node-client.ts'
import { addressText, NodeAgent, plainSocket, type Resolved, resolved, secureSocket } from './node-connection.ts'
import { NodePin } from './node-pin.ts'
import { readText } from './response-body.ts'
import { sendBody } from './send-body.ts'

export interface AdminClientOptions {
  readonly user: KeyPair
  readonly known: KnownNodes
  readonly timers: Timers
  /** The one-time code for the first user of a node. */
  readonly code?: string | undefined
  readonly timeoutMs?: number
}

interface Challenge {
  readonly challenge: string
  readonly nodeId: NodeId
}

/** A client for the admin port of a node, with a session of the user. */
export class AdminClient implements NodeClient {
  readonly #address: AdminAddress
  readonly #options: AdminClientOptions
  readonly #timeoutMs: number
  readonly #agent: NodeAgent
  readonly #resolved: Resolved
  readonly #pin: NodePin
  #isSecure: boolean
  #token: string | undefined
  /** Whether the user became the first authorized one of the node. */
  isFirstUser = false

  private constructor(address: AdminAddress, options: AdminClientOptions, found: Resolved) {
    this.#address = address
    this.#options = options
    this.#timeoutMs = options.timeoutMs ?? limits.controlAnswerMs
    this.#agent = new NodeAgent(() => this.#connect())
    this.#resolved = found
    this.#pin = new NodePin(address, options.known, found.isLoopback)
    this.#isSecure = address.scheme === 'https' || !found.isLoopback
  }

  /** Signs in to a node. */
  static async connect(address: AdminAddress, options: AdminClientOptions): Promise<AdminClient> {
    const found = await resolved(address)
    if (address.scheme === 'http' && !found.isLoopback)
      throw new ShoalError(
        'ERR_INVALID_INPUT',
        `${addressText(address)} is not on this machine, and other nodes are only reached with https.`,
      )
    const client = new AdminClient(address, options, found)
    try {
      await client.#signIn()
      return client
    } catch (error) {
      client.#agent.destroy()
      throw error
    }
  }

  async request<T>(sent: NodeRequest): Promise<T> {
    const text = await this.#bodyOf(await this.stream(sent), sent)
    try {
      return JSON.parse(text) as T
    } catch {
      throw notANode(this.#address)
    }
  }

  async stream(sent: NodeRequest): Promise<IncomingMessage> {
    const response = await this.#responded(sent)
    verbose('DEBUG', `${sent.method} ${sent.path}: ${response.statusCode} from ${addressText(this.#address)}`)
    if ((response.statusCode ?? 500) < 400) return response
    throw refusalOf(await this.#bodyOf(response, sent), response.statusCode, sent)
  }

  /** Ends the session. */
  async close(): Promise<void> {
    try {
      if (this.#token !== undefined) await this.request({ method: 'DELETE', path: '/session' })
    } catch {
      // The node may have stopped or have removed the user. The session expires anyway.
    } finally {
      this.#agent.destroy()
    }
  }

  async #signIn(): Promise<void> {
    const { user, code } = this.#options
    const publicKey = formatPublicKey(user.publicKey)
    const { challenge, nodeId } = await this.#challenge({ publicKey })
    if (typeof challenge !== 'string' || typeof nodeId !== 'string') throw notANode(this.#address)
    this.#pin.check(nodeId)
    // Over plain HTTP another program could forward the challenge of a node that is reached with TLS.
    if (!challenge.startsWith(this.#isSecure ? 'tls.' : 'loopback.')) throw notANode(this.#address)
    const signature = Buffer.from(user.sign(adminSignInMessage(nodeId, challenge))).toString('base64')
    const body = { publicKey, challenge, signature, ...(code !== undefined && { code }) }
    const opened = await this.request<{ token: string; firstUser: boolean }>({ method: 'POST', path: '/session', body })
    this.#token = opened.token
    this.isFirstUser = opened.firstUser
    const transport = this.#isSecure ? 'TLS' : 'plain HTTP on this machine'
    verbose('INFO', `signed in to the node ${nodeId} at ${addressText(this.#address)} (${transport})`)
  }

  async #challenge(body: object): Promise<Challenge> {
    const sent: NodeRequest = { method: 'POST', path: '/session/challenge', body }
    try {
      return await this.request<Challenge>(sent)
    } catch (error) {
      const mayBeSecure = !this.#isSecure && this.#address.scheme === undefined
      if (!mayBeSecure || !(error instanceof ConnectionLost)) throw error
      // A port that is bound to all addresses speaks TLS on loopback, too.
      this.#isSecure = true
      return await this.request<Challenge>(sent)
    }
  }

  async #connect(): Promise<Socket> {
    const { lookup } = this.#resolved
    const options = { address: this.#address, lookup, timers: this.#options.timers, timeoutMs: this.#timeoutMs }
    if (!this.#isSecure) return await plainSocket(options)
    return await secureSocket(options, (node) => this.#pin.prove(node))
  }

  async #responded(sent: NodeRequest): Promise<IncomingMessage> {
    const { body, headers } = bodyOf(sent)
    const { timers } = this.#options
    const outgoing = request({
      agent: this.#agent,
      host: this.#address.host,
      port: this.#address.port,
      method: sent.method,
      path: `/api/v2/admin${sent.path}`,
      headers: {
        // The node refuses host names that it does not know, as protection against DNS rebinding.
        host: 'localhost',
        ...headers,
        ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
      },
    })
    const timer = timers.setTimeout(() => outgoing.destroy(new Error('timeout')), this.#timeoutOf(sent))
    // No time-out while the node reads a long body.
    outgoing.on('drain', () => timer.refresh())
    const responded = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve)
      outgoing.once('error', (error) => reject(lostResponse(error, this.#address, sent)))
    })
    try {
      return await sendBody(outgoing, body, responded)
    } finally {
      timers.clear(timer)
    }
  }

  async #bodyOf(response: IncomingMessage, sent: NodeRequest): Promise<string> {
    try {
      const maxBytes = this.#token === undefined ? limits.signInAnswerBytes : limits.commandAnswerBytes
      return await readText(response, { maxBytes, timeoutMs: this.#timeoutOf(sent), timers: this.#options.timers })
    } catch (error) {
      throw lostResponse(error, this.#address, sent)
    }
  }

  #timeoutOf({ isLong }: NodeRequest): number {
    return isLong === true ? limits.longControlAnswerMs : this.#timeoutMs
  }
}
