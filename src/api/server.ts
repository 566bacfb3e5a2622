import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { damageOf, failure, invalidRequest, messageOf, ShoalError, systemCode } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { createServer } from '../base/node-http.ts'
import type { App } from '../identity/index.ts'
import { JsonError } from '../json/json-scanner.ts'
import type { Logger } from '../logging/index.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Timers } from '../runtime/timers.ts'
import { awaitsContinue, BodyReader, ClientDisconnected } from './body.ts'
import { Call } from './call.ts'
import type { Connections } from './clients/index.ts'
import type { OriginRule } from './cors.ts'
import type { Hosts } from './hosts.ts'
import { checkAccept, checkJsonContent } from './negotiation.ts'
import type { ParseQueue } from './parse-queue.ts'
import { refusalOf } from './refusal.ts'
import { RefusalLog } from './refusal-log.ts'
import { errorResponse, type HttpResponse } from './response.ts'
import { methodOf, type Route, Router } from './router.ts'
import { send } from './sending.ts'
import type { EventSockets } from './socket/event-sockets.ts'
import { checkHostHeader, normalizeTarget } from './target.ts'
import type { Websites } from './websites.ts'

/** Private key and certificate, as PEM. */
export interface ServerCertificate {
  readonly key: string
  readonly cert: string
}

export interface HttpOptions {
  readonly routes: readonly Route[]
  readonly log: Logger
  readonly clock: Clock
  readonly timers: Timers
  /** Shared with the WebSockets, so that parsing yields to other clients of both. */
  readonly parseQueue: ParseQueue
  /** The app of a request to a route that requires authentication; throws for a request that has none. */
  readonly authenticate?: (call: Call) => App
  readonly hosts?: Hosts
  /** Decides about requests of websites. */
  readonly cors?: OriginRule
  /** Handles requests for websites. */
  readonly websites?: Websites
  /** Handles WebSocket upgrade requests. */
  readonly sockets?: EventSockets
  /** Idle timeout of a request body. */
  readonly bodyTimeoutMs?: number
  /** Called for each accepted connection, before its TLS handshake. */
  readonly onConnection?: (socket: Socket) => void
  /** Called after each response, with the milliseconds from the head of the request to that of the response. */
  readonly onResponse?: (status: number, ms: number) => void
  /** The connections of all clients. Services that share them share one memory account. */
  readonly connections: Connections
}

/** The HTTP server. Every request gets a response, also a malformed one, and none of them stops the node. */
export class HttpService {
  readonly #options: HttpOptions
  readonly #router: Router
  readonly #refusals: RefusalLog
  readonly #bodies: BodyReader

  constructor(options: HttpOptions) {
    this.#options = options
    this.#router = new Router(options.routes)
    this.#refusals = new RefusalLog(options.log, options.timers)
    this.#bodies = new BodyReader(options.bodyTimeoutMs ?? limits.bodyTimeoutMs, options.timers)
  }

  /** Creates a server; there is one per listening address. With a certificate it speaks TLS. */
  server(certificate?: ServerCertificate): Server {
    const { sockets } = this.#options
    const timeouts = {
      headersTimeout: limits.requestHeadTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.idleConnectionMs,
    }
    const server = newServer(certificate, {
      maxHeaderSize: limits.requestHeadBytes,
      noDelay: true,
      ...timeouts,
      // Node would reject such a request without an error body. checkHostHeader does it with one.
      requireHostHeader: false,
      // Some clients offer an upgrade to HTTP/2 (h2c) with every request. They accept an HTTP/1.1 response.
      shouldUpgradeCallback: ({ headers }) => sockets !== undefined && headers.upgrade?.toLowerCase() === 'websocket',
    })
    const { connections, parseQueue, onConnection } = this.#options
    if (onConnection !== undefined) server.on('connection', onConnection)
    server.on(certificate === undefined ? 'connection' : 'secureConnection', (socket: Socket) =>
      connections.add(socket),
    )
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      // A connection that was rejected may still emit requests that were already received.
      if (request.socket.destroyed) return
      normalizeTarget(request)
      const client = connections.of(request.socket)
      client.http.serve(request, () => this.#serve(new Call(request, response, this.#bodies, parseQueue, client)))
    }
    server.on('request', handle)
    // The handler that reads the body sends `100 Continue`.
    server.on('checkContinue', handle)
    if (sockets !== undefined)
      server.on('upgrade', (request, socket, head) => {
        if (socket.destroyed) return
        normalizeTarget(request)
        sockets.upgrade(request, socket, head, connections.of(request.socket).connection)
      })
    server.on('clientError', (error, socket) => this.#refuse(error, socket))
    return server
  }

  /** Closes all WebSockets gracefully. */
  closeSockets(): void {
    this.#options.sockets?.close()
  }

  /** Closes the WebSockets that are open now, so that their clients connect again. */
  restartSockets(): void {
    this.#options.sockets?.restart()
  }

  /** Terminates the WebSockets that are still open. */
  terminateSockets(): void {
    this.#options.sockets?.terminate()
  }

  #serve(call: Call): void {
    const { request, response, client } = call
    response.once('close', () => {
      client.http.served()
    })
    // Node would buffer a body that no handler reads until the response is sent.
    if (!methodsWithBody.has(call.method) && hasRequestBody(request)) drain(request, this.#options.timers)
    this.#handle(call).catch((error) => this.#failed(request, response, error))
  }

  async #handle(call: Call): Promise<void> {
    const started = this.#options.clock.steadyMs()
    const { request } = call
    const response = await this.#respond(call)
    const respondedAt = this.#options.clock.steadyMs()
    call.refundAll()
    if (response === undefined) return
    // Without `100 Continue` a client may send its body or not, so the next bytes could be a body or a request.
    if (awaitsContinue(request) && !request.complete) call.response.shouldKeepAlive = false
    drain(request, this.#options.timers)
    const sent = await send(call, response, this.#options.cors?.headers(request.headers))
    this.#options.onResponse?.(sent.status, respondedAt - started)
    this.#log(call, sent, started)
  }

  /** The response, with errors turned into error responses; nothing when the client has disconnected. */
  async #respond(call: Call): Promise<HttpResponse | undefined> {
    const { hosts, cors, websites, log } = this.#options
    try {
      checkHostHeader(call.request)
      hosts?.check(call.request.headers.host)
      return (
        cors?.respond(call.request.method, call.request.headers) ??
        (await websites?.respond(call)) ??
        (await this.#route(call))
      )
    } catch (error) {
      if (error instanceof ShoalError) return this.#refusal(call, error)
      if (error instanceof JsonError) return errorResponse(invalidRequest(error.message))
      if (error instanceof ClientDisconnected) return undefined
      log.error(`request failed: ${messageOf(error)}`, { method: call.method, path: call.path })
      return errorResponse(damageOf(error) ?? failure('ERR_INTERNAL', {}))
    }
  }

  /** The order of the checks is part of the interface: path, method, token, Accept, Content-Type, then the body. */
  #route(call: Call): HttpResponse | Promise<HttpResponse> {
    const route = this.#router.find(call.path)
    if (route === undefined) throw failure('ERR_NOT_FOUND', {})
    const endpoint = methodOf(route, call.method)
    if (endpoint === undefined) throw failure('ERR_METHOD_NOT_ALLOWED', {})
    const { headers } = call.request
    const app = endpoint.authenticated ? this.#options.authenticate?.(call) : undefined
    call.appId = app?.appId
    if (endpoint.produces !== undefined) checkAccept(headers, endpoint.produces)
    if (endpoint.consumes !== undefined) checkJsonContent(headers, endpoint.consumes)
    if (!endpoint.authenticated) return endpoint.handle(call)
    if (app === undefined) throw failure('ERR_MISSING_AUTH_HEADER', {})
    return endpoint.handle(call, app)
  }

  /** An error response; a 405 lists the allowed methods in its `Allow` header. */
  #refusal({ path }: Call, error: ShoalError): HttpResponse {
    const response = errorResponse(error)
    const route = error.code === 'ERR_METHOD_NOT_ALLOWED' ? this.#router.find(path) : undefined
    if (route === undefined) return response
    return { ...response, headers: { ...response.headers, allow: Object.keys(route.methods).join(', ') } }
  }

  /** Sending failed. The head may already be sent, so the connection is closed. */
  #failed(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    this.#options.log.error(`sending a response failed: ${messageOf(error)}`, { method: request.method })
    response.destroy()
  }

  #refuse(error: Error, socket: Duplex): void {
    this.#options.log.debug(`bad request: ${error.message}`)
    if (!socket.writable) return
    // Without TLS there is no way to answer.
    if ('encrypted' in socket && !isHttpError(error)) {
      socket.destroy()
      return
    }
    // A client that disconnects in the middle of a request is not logged as rejected.
    const refused = invalidRequest(problemOf(error))
    if (systemCode(error) !== 'HPE_INVALID_EOF_STATE')
      this.#refusals.add(refusalOf(refused), { remote: (socket as Socket).remoteAddress })
    const body = JSON.stringify(refused)
    const head = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`
    socket.end(`HTTP/1.1 400 Bad Request\r\n${head}\r\n\r\n${body}`)
  }

  #log({ request, method, path, appId }: Call, { status, refusal }: HttpResponse, started: number): void {
    const { log, clock } = this.#options
    const remote = request.socket.remoteAddress
    if (refusal !== undefined) this.#refusals.add(refusal, { method, path, remote, appId })
    if (!log.isDebug) return
    log.debug('request', {
      method,
      path,
      status,
      remote,
      userAgent: request.headers['user-agent'],
      elapsedMs: Number((clock.steadyMs() - started).toFixed(1)),
    })
  }
}

function newServer(certificate: ServerCertificate | undefined, options: ServerOptions): Server {
  if (certificate === undefined) return createServer(options)
  const { createServer: createSecureServer } = process.getBuiltinModule('node:https')
  const handshakeTimeout = limits.requestHeadTimeoutMs
  return createSecureServer({ ...options, ...certificate, minVersion: 'TLSv1.3', handshakeTimeout })
}

/** Whether an error is about a request, not about the TLS handshake before it. */
function isHttpError(error: Error): boolean {
  return /^(HPE_|ERR_HTTP_)/.test(systemCode(error) ?? '')
}

/** The methods whose request bodies are read by handlers. */
const methodsWithBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/**
 * Drains an unread request body. Draining tiny chunks would let a client burn CPU time: after too many of them the
 * socket is paused, and closed after a linger time in which the client can read its response.
 */
function drain(request: IncomingMessage, timers: Timers): void {
  if (request.complete) return
  const { socket } = request
  let small = 0
  const onData = (part: Buffer): void => {
    if (part.length >= limits.smallBodyChunkBytes || ++small <= limits.smallBodyChunks) return
    request.off('data', onData)
    socket.pause()
    timers.setTimeout(() => socket.destroy(), limits.lingerMs).unref()
  }
  request.on('data', onData)
}

function hasRequestBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function problemOf(error: Error): string {
  const { requestHeadBytes, requestHeadTimeoutMs, requestTimeoutMs } = limits
  switch (systemCode(error)) {
    case 'HPE_HEADER_OVERFLOW':
      return `The request head has more than ${requestHeadBytes} bytes.`
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return `Request timeout: ${requestHeadTimeoutMs} ms for the head, ${requestTimeoutMs} ms for the whole request.`
    default:
      return 'Malformed HTTP/1.1.'
  }
}
