import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocketServer } from 'ws'
import { failure, messageOf, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Events } from '../../events/index.ts'
import type { App, Tokens } from '../../identity/index.ts'
import type { Logger } from '../../logging/index.ts'
import type { Timers } from '../../runtime/timers.ts'
import { type Answer, errorAnswer } from '../answer.ts'
import { checkEncoded, tokenParameter } from '../authentication.ts'
import type { Connection } from '../clients/index.ts'
import type { Cors } from '../cors.ts'
import type { Hosts } from '../hosts.ts'
import { RefusalLog } from '../refusal-log.ts'
import { checkHostHeader } from '../target.ts'
import type { ParseTurns } from '../turns.ts'
import { EventSocket, type SocketError } from './event-socket.ts'

// Not imported, for the same reason as in the server.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

export interface SocketParts {
  readonly events: Promise<Events>
  readonly tokens: Tokens
  readonly hosts: Hosts
  /** Browsers let every website open a WebSocket: whether it may is for the node to see. */
  readonly cors: Cors
  readonly log: Logger
  readonly timers: Timers
  readonly turns: ParseTurns
  /** Is told what kind of error a request was answered with. */
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

  /** Answers a request to change to another protocol. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, connection: Connection): Promise<void> {
    const { hosts, cors, log } = this.#parts
    // Whoever goes away in the middle of it is not missed.
    socket.on('error', (error) => log.debug(`WebSocket: ${error.message}`))
    try {
      checkHostHeader(request)
      hosts.check(request.headers.host)
      const forbidden = cors.answer(request.method, request.headers)
      if (forbidden !== undefined) {
        this.#refuse(request, socket, forbidden)
        return
      }
      const app = this.#admit(request)
      if (!connection.charge(limits.socketBytes)) throw connection.refusal
      const server = await this.#webSocketServer()
      server.handleUpgrade(request, socket, head, (opened) => {
        const eventSocket = new EventSocket(opened, app.appId, this.#parts, connection)
        this.#open.add(eventSocket)
        opened.on('close', () => this.#open.delete(eventSocket))
        // Before the library parses it: what is complete then was a message, and is charged as one.
        socket.prependListener('data', (part: Buffer) => eventSocket.receiving(part))
      })
    } catch (error) {
      if (!(error instanceof ShoalError)) log.error(`upgrade failed: ${messageOf(error)}`)
      this.#refuse(request, socket, errorAnswer(error instanceof ShoalError ? error : failure('ERR_INTERNAL', {})))
    }
  }

  #refuse(request: IncomingMessage, socket: Duplex, answer: Answer): void {
    const [path = ''] = (request.url ?? '').split('?')
    const remote = request.socket.remoteAddress
    this.#refusals.add(answer.status, answer.refusal ?? '', { method: request.method, path, remote })
    refuse(socket, answer)
  }

  /** Tells all of them that the node goes away, as soon as their requests are answered. */
  close(): void {
    for (const socket of this.#open) socket.close()
  }

  /** Those who do not answer are cut off. */
  terminate(): void {
    for (const socket of this.#open) socket.terminate()
  }

  /** The order of the checks is that of other requests. */
  #admit(request: IncomingMessage): App {
    const { tokens } = this.#parts
    const [path = '', ...rest] = (request.url ?? '').split('?')
    if (path !== '/api/v2/events' && path !== '/api/v2/events/') throw failure('ERR_NOT_FOUND', {})
    if (request.method !== 'GET') throw failure('ERR_METHOD_NOT_ALLOWED', {})
    if (request.headers.upgrade?.toLowerCase() !== 'websocket')
      throw failure('ERR_BAD_REQUEST', { cause: 'This is a WebSocket: the request asks for another protocol.' })
    if (rest.length === 0) throw failure('ERR_MISSING_TOKEN_PARAM', {})
    const query = rest.join('?')
    return checkEncoded(tokens, tokenParameter(query) ?? query)
  }

  /** Loaded when the first one comes: a node without WebSockets starts faster. */
  #webSocketServer(): Promise<WebSocketServer> {
    this.#server ??= import('ws').then(
      ({ WebSocketServer }) =>
        new WebSocketServer({
          noServer: true,
          clientTracking: false,
          perMessageDeflate: false,
          maxPayload: limits.socketMessageBytes,
          // Its pongs would pile up in memory for a client that does not read them.
          autoPong: false,
        }),
      (error) => {
        // For want of a file descriptor, say: the next one tries again.
        this.#server = undefined
        throw error
      },
    )
    return this.#server
  }
}

function refuse(socket: Duplex, { status, headers, body }: Answer): void {
  const text = String(body)
  const all = { ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${text}`)
}
