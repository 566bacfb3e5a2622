import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocketServer } from 'ws'
import { failure, invalidRequest, messageOf, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { STATUS_CODES } from '../../base/node-http.ts'
import type { Events } from '../../events/index.ts'
import type { App, Tokens } from '../../identity/index.ts'
import type { Logger } from '../../logging/index.ts'
import type { Timers } from '../../runtime/timers.ts'
import { checkEncoded, tokenParameter } from '../authentication.ts'
import type { Connection } from '../clients/index.ts'
import type { Cors } from '../cors.ts'
import type { Hosts } from '../hosts.ts'
import type { ParseQueue } from '../parse-queue.ts'
import type { Refusal } from '../refusal.ts'
import { RefusalLog } from '../refusal-log.ts'
import { errorResponse, type HttpResponse } from '../response.ts'
import { checkHostHeader } from '../target.ts'
import { EventSocket, goingAway, type SocketError, serviceRestart } from './event-socket.ts'

export interface SocketParts {
  /** The events of the current topic. */
  readonly events: () => Promise<Events>
  readonly tokens: Tokens
  readonly hosts: Hosts
  /** Browsers do not apply CORS to WebSockets: the node has to check the origin. */
  readonly cors: Cors
  readonly log: Logger
  readonly timers: Timers
  readonly parseQueue: ParseQueue
  /** Called for each request that fails, with the kind of its error. */
  readonly failed?: (kind: SocketError['type']) => void
}

/** The WebSockets of the API. */
export class EventSockets {
  readonly #parts: SocketParts
  readonly #open = new Set<EventSocket>()
  readonly #refusals: RefusalLog
  #server: Promise<WebSocketServer> | undefined

  constructor(parts: SocketParts) {
    this.#parts = parts
    this.#refusals = new RefusalLog(parts.log, parts.timers)
  }

  /** Handles a WebSocket upgrade request. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, connection: Connection): Promise<void> {
    const { hosts, cors, log } = this.#parts
    // A client that disconnects during the handshake is not an error.
    socket.on('error', (error) => log.debug(`WebSocket: ${error.message}`))
    try {
      checkHostHeader(request)
      hosts.check(request.headers.host)
      const forbidden = cors.respond(request.method, request.headers)
      if (forbidden !== undefined) {
        this.#refuse(request, socket, forbidden)
        return
      }
      const app = this.#authenticate(request)
      // A client that connects while the topic is changed is refused, so that it tries again.
      await this.#parts.events()
      if (!connection.charge(limits.socketBytes)) throw connection.refusal
      const server = await this.#webSocketServer()
      const remote = request.socket.remoteAddress
      const refused = (refusal: Refusal, service: string | undefined): void =>
        this.#refusals.add(refusal, { service, remote, appId: app.appId })
      server.handleUpgrade(request, socket, head, (opened) => {
        const eventSocket = new EventSocket(opened, app.appId, { ...this.#parts, refused }, connection)
        this.#open.add(eventSocket)
        opened.on('close', () => this.#open.delete(eventSocket))
        // Before `ws` parses the chunk: a message that becomes complete with it is charged as a message instead.
        socket.prependListener('data', (chunk: Buffer) => eventSocket.receiving(chunk))
      })
    } catch (error) {
      if (!(error instanceof ShoalError)) log.error(`upgrade failed: ${messageOf(error)}`)
      this.#refuse(request, socket, errorResponse(error instanceof ShoalError ? error : failure('ERR_INTERNAL', {})))
    }
  }

  #refuse(request: IncomingMessage, socket: Duplex, response: HttpResponse): void {
    const [path = ''] = (request.url ?? '').split('?')
    const remote = request.socket.remoteAddress
    if (response.refusal !== undefined) this.#refusals.add(response.refusal, { method: request.method, path, remote })
    refuse(socket, response)
  }

  /** Closes all WebSockets gracefully: each after its requests have completed. */
  close(): void {
    for (const socket of this.#open) socket.close(goingAway)
  }

  /** Closes the WebSockets that are open now, so that their clients connect again. */
  restart(): void {
    const open = [...this.#open]
    for (const socket of open) socket.close(serviceRestart)
    const terminate = (): void => {
      for (const socket of open) socket.terminate()
    }
    this.#parts.timers.setTimeout(terminate, limits.socketRestartMs).unref()
  }

  /** Terminates all WebSockets that are still open. */
  terminate(): void {
    for (const socket of this.#open) socket.terminate()
  }

  /** The number of open WebSockets. */
  get count(): number {
    return this.#open.size
  }

  /** Authenticates an upgrade request. The checks are in the same order as for other requests. */
  #authenticate(request: IncomingMessage): App {
    const { tokens } = this.#parts
    const [path = '', ...rest] = (request.url ?? '').split('?')
    if (path !== '/api/v2/events' && path !== '/api/v2/events/') throw failure('ERR_NOT_FOUND', {})
    if (request.method !== 'GET') throw failure('ERR_METHOD_NOT_ALLOWED', {})
    if (request.headers.upgrade?.toLowerCase() !== 'websocket')
      throw invalidRequest('This is a WebSocket endpoint: the request asks for another protocol.')
    if (rest.length === 0) throw failure('ERR_MISSING_TOKEN_PARAM', {})
    const query = rest.join('?')
    return checkEncoded(tokens, tokenParameter(query) ?? query)
  }

  /** Loads `ws` with the first upgrade request: a node starts faster without it. */
  #webSocketServer(): Promise<WebSocketServer> {
    this.#server ??= import('ws').then(
      ({ WebSocketServer }) =>
        new WebSocketServer({
          noServer: true,
          clientTracking: false,
          perMessageDeflate: false,
          maxPayload: limits.socketMessageBytes,
          // Automatic pongs would pile up in memory for a client that does not read.
          autoPong: false,
        }),
      (error) => {
        // The import can fail, for example when file descriptors run out. The next upgrade retries.
        this.#server = undefined
        throw error
      },
    )
    return this.#server
  }
}

function refuse(socket: Duplex, { status, headers, body }: HttpResponse): void {
  const text = String(body)
  const all = { ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${text}`)
}
