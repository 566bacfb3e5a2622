import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { damageOf, failure, messageOf, ShoalError, systemCode } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Tokens } from '../identity/index.ts'
import { JsonError } from '../json/json-scanner.ts'
import type { Logger } from '../logging/index.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Timers } from '../runtime/timers.ts'
import { type Answer, errorAnswer } from './answer.ts'
import { authenticate } from './authentication.ts'
import { awaitsContinue, BodyReader, ClientGone } from './body.ts'
import { Call } from './call.ts'
import type { Connections } from './clients/index.ts'
import type { Cors } from './cors.ts'
import type { Hosts } from './hosts.ts'
import { checkAccept, checkJsonContent } from './negotiation.ts'
import { RefusalLog } from './refusal-log.ts'
import { endpointOf, type Route, Router } from './router.ts'
import { send } from './sending.ts'
import type { EventSockets } from './socket/event-sockets.ts'
import { checkHostHeader, settleTarget } from './target.ts'
import type { ParseTurns } from './turns.ts'
import type { Websites } from './websites.ts'

// An import of node:http reads all of its members, and with them loads a second HTTP client and more: a sixth of the start.
const { createServer } = process.getBuiltinModule('node:http')

export interface HttpOptions {
  readonly routes: readonly Route[]
  readonly log: Logger
  readonly clock: Clock
  readonly timers: Timers
  /** Shared with the WebSockets: both take time from everybody else. */
  readonly turns: ParseTurns
  /** What checks the tokens of calls that need one. */
  readonly tokens?: Tokens
  readonly hosts?: Hosts
  readonly cors?: Cors
  /** What answers those who ask for a website. */
  readonly websites?: Websites
  /** What answers those who want a WebSocket. */
  readonly sockets?: EventSockets
  /** How long a body may pause. */
  readonly bodyPauseMs?: number
  /** Called after each response. */
  readonly answered?: (status: number) => void
  /** The connections of all clients; services that share them share one account of memory. */
  readonly connections: Connections
}

/** Answers HTTP. Whatever a client sends, it gets an answer and the node goes on. */
export class HttpService {
  readonly #options: HttpOptions
  readonly #router: Router
  readonly #refusals: RefusalLog
  readonly #bodies: BodyReader

  constructor(options: HttpOptions) {
    this.#options = options
    this.#router = new Router(options.routes)
    this.#refusals = new RefusalLog(options.log, options.timers)
    this.#bodies = new BodyReader(options.bodyPauseMs ?? limits.bodyPauseMs, options.timers)
  }

  /** A server that answers; there is one for each address. */
  server(): Server {
    const { sockets } = this.#options
    const timeouts = {
      headersTimeout: limits.requestHeadMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleConnectionMs,
    }
    const server = createServer({
      maxHeaderSize: limits.requestHeadBytes,
      noDelay: true,
      ...timeouts,
      // Node would refuse a request without that header, and not say why.
      requireHostHeader: false,
      // Some clients offer HTTP/2 with every request, and are content with an answer in HTTP/1.1.
      shouldUpgradeCallback: ({ headers }) => sockets !== undefined && headers.upgrade?.toLowerCase() === 'websocket',
    })
    const { connections, turns } = this.#options
    server.on('connection', (socket) => connections.add(socket))
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      // A connection that was refused may still hand over what has come with it.
      if (request.socket.destroyed) return
      settleTarget(request)
      const client = connections.of(request.socket)
      client.http.serve(request, () => this.#serve(new Call(request, response, this.#bodies, turns, client)))
    }
    server.on('request', handle)
    // Whether a body is wanted is decided by whoever reads it.
    server.on('checkContinue', handle)
    if (sockets !== undefined)
      server.on('upgrade', (request, socket, head) => {
        if (socket.destroyed) return
        settleTarget(request)
        sockets.upgrade(request, socket, head, connections.of(request.socket).connection)
      })
    server.on('clientError', (error, socket) => this.#refuse(error, socket))
    return server
  }

  /** Tells those who stay connected that the node stops. */
  closeSockets(): void {
    this.#options.sockets?.close()
  }

  /** Cuts off those who are still there. */
  terminateSockets(): void {
    this.#options.sockets?.terminate()
  }

  #serve(call: Call): void {
    const { request, response, client } = call
    response.once('close', () => {
      client.http.served()
    })
    // Node would keep a body that no route reads, chunk by chunk, until the request is answered.
    if (!hasBody.has(call.method) && isWithBody(request)) drain(request, this.#options.timers)
    this.#handle(call).catch((error) => this.#failed(request, response, error))
  }

  async #handle(call: Call): Promise<void> {
    const started = this.#options.clock.steadyMs()
    const { request, response } = call
    const answer = await this.#answer(call)
    call.letGo()
    if (answer === undefined) return
    // Whoever was not told to send the body may send it or not: nobody could tell it from the next request.
    if (awaitsContinue(request) && !request.complete) response.shouldKeepAlive = false
    drain(request, this.#options.timers)
    const sent = await send(call, answer, this.#options.cors?.headers(request.headers))
    this.#options.answered?.(sent.status)
    this.#log(call, sent, started)
  }

  /** The answer, also to what cannot be answered; nothing when there is nobody to get it. */
  async #answer(call: Call): Promise<Answer | undefined> {
    const { hosts, cors, websites, log } = this.#options
    try {
      checkHostHeader(call.request)
      hosts?.check(call.request.headers.host)
      return (
        cors?.answer(call.request.method, call.request.headers) ??
        (await websites?.answer(call)) ??
        (await this.#route(call))
      )
    } catch (error) {
      if (error instanceof ShoalError) return this.#refusal(call, error)
      if (error instanceof JsonError) return errorAnswer(failure('ERR_BAD_REQUEST', { cause: error.message }))
      if (error instanceof ClientGone) return undefined
      log.error(`request failed: ${messageOf(error)}`, { method: call.method, path: call.path })
      return errorAnswer(damageOf(error) ?? failure('ERR_INTERNAL', {}))
    }
  }

  /** The order of the checks is part of the interface: path, method, token, Accept, Content-Type, then the body. */
  #route(call: Call): Answer | Promise<Answer> {
    const route = this.#router.find(call.path)
    if (route === undefined) throw failure('ERR_NOT_FOUND', {})
    const endpoint = endpointOf(route, call.method)
    if (endpoint === undefined) throw failure('ERR_METHOD_NOT_ALLOWED', {})
    const { headers } = call.request
    const app = endpoint.token && this.#options.tokens ? authenticate(this.#options.tokens, call) : undefined
    if (endpoint.produces !== undefined) checkAccept(headers, endpoint.produces)
    if (endpoint.consumes === 'json') checkJsonContent(headers)
    if (!endpoint.token) return endpoint.answer(call)
    if (app === undefined) throw failure('ERR_MISSING_AUTH_HEADER', {})
    return endpoint.answer(call, app)
  }

  /** Whoever uses a method that there is not learns which ones there are. */
  #refusal({ path }: Call, error: ShoalError): Answer {
    const answer = errorAnswer(error)
    const route = error.code === 'ERR_METHOD_NOT_ALLOWED' ? this.#router.find(path) : undefined
    if (route === undefined) return answer
    return { ...answer, headers: { ...answer.headers, allow: Object.keys(route.methods).join(', ') } }
  }

  /** What goes wrong while an answer is being sent: it cannot be taken back, only cut off. */
  #failed(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    this.#options.log.error(`answer failed: ${messageOf(error)}`, { method: request.method })
    response.destroy()
  }

  #refuse(error: Error, socket: Duplex): void {
    this.#options.log.debug(`bad request: ${error.message}`)
    if (!socket.writable) return
    // A client that goes away in the middle of a request is not refused.
    if (systemCode(error) !== 'HPE_INVALID_EOF_STATE')
      this.#refusals.add(400, 'ERR_BAD_REQUEST', { remote: (socket as Socket).remoteAddress })
    const body = JSON.stringify(failure('ERR_BAD_REQUEST', { cause: badRequest(error) }))
    const head = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`
    socket.end(`HTTP/1.1 400 Bad Request\r\n${head}\r\n\r\n${body}`)
  }

  #log({ request, method, path }: Call, { status, refusal }: Answer, started: number): void {
    const { log, clock } = this.#options
    const remote = request.socket.remoteAddress
    if (refusal !== undefined) this.#refusals.add(status, refusal, { method, path, remote })
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

/** The methods whose bodies are read by the routes that have them. */
const hasBody: ReadonlySet<string> = new Set(['POST', 'PUT'])

/**
 * Reads what is left of the body of a request and drops it. Parsing tiny chunks only to drop them could keep the node busy: after
 * too many of them it reads no more, and closes the connection when the client has had a moment to read its answer.
 */
function drain(request: IncomingMessage, timers: Timers): void {
  if (request.complete) return
  const { socket } = request
  let small = 0
  const onData = (part: Buffer): void => {
    if (part.length >= limits.smallPartBytes || ++small <= limits.smallParts) return
    request.off('data', onData)
    socket.pause()
    timers.setTimeout(() => socket.destroy(), limits.lingerMs).unref()
  }
  request.on('data', onData)
}

function isWithBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function badRequest(error: Error): string {
  switch (systemCode(error)) {
    case 'HPE_HEADER_OVERFLOW':
      return `Its head has more than ${limits.requestHeadBytes} bytes.`
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return `It did not come in time: its head within ${limits.requestHeadMs} ms, all of it within ${limits.requestMs} ms.`
    default:
      return 'It is not HTTP/1.1.'
  }
}
