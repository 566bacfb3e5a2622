import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { failure, messageOf, ShoalError, systemCode } from '../errors.ts'
import type { Tokens } from '../identity/index.ts'
import { JsonError } from '../json-scanner.ts'
import { limits } from '../limits.ts'
import type { Logger } from '../log/index.ts'
import { Samples } from '../samples.ts'
import { type Answer, errorAnswer } from './answer.ts'
import { authenticate } from './authentication.ts'
import { awaitsContinue, BodyReader, ClientGone } from './body.ts'
import { Call } from './call.ts'
import type { Cors } from './cors.ts'
import type { Hosts } from './hosts.ts'
import { checkAccept, checkJsonContent } from './negotiation.ts'
import { type Endpoint, endpointOf, type Route, Router } from './router.ts'
import { send } from './sending.ts'
import type { EventSockets } from './socket/event-sockets.ts'
import { checkHostHeader, settleTarget } from './target.ts'
import type { Websites } from './websites.ts'

// An import of node:http reads all of its members, and with them loads a second HTTP client and more: a sixth of the start.
const { createServer } = process.getBuiltinModule('node:http')

export interface HttpOptions {
  readonly routes: readonly Route[]
  readonly log: Logger
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
  /** Is told of every answer. */
  readonly answered?: (status: number) => void
}

/** Answers HTTP. Whatever a client sends, it gets an answer and the node goes on. */
export class HttpService {
  readonly #options: HttpOptions
  readonly #router: Router
  readonly #bodies: BodyReader
  readonly #samples = new Samples<Endpoint | undefined>()

  constructor(options: HttpOptions) {
    this.#options = options
    this.#router = new Router(options.routes)
    this.#bodies = new BodyReader(options.bodyPauseMs ?? limits.bodyPauseMs)
  }

  /** A server that answers; there is one for each address. */
  server(): Server {
    const { sockets } = this.#options
    const timeouts = { headersTimeout: limits.requestHeadMs, requestTimeout: limits.requestMs }
    const server = createServer({
      maxHeaderSize: limits.requestHeadBytes,
      noDelay: true,
      ...timeouts,
      // Node would refuse a request without that header, and not say why.
      requireHostHeader: false,
      // Some clients offer HTTP/2 with every request, and are content with an answer in HTTP/1.1.
      shouldUpgradeCallback: ({ headers }) => sockets !== undefined && headers.upgrade?.toLowerCase() === 'websocket',
    })
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      settleTarget(request)
      this.#handle(new Call(request, response, this.#bodies)).catch((error) => this.#failed(request, response, error))
    }
    server.on('request', handle)
    // Whether a body is wanted is decided by whoever reads it.
    server.on('checkContinue', handle)
    if (sockets !== undefined)
      server.on('upgrade', (request, socket, head) => {
        settleTarget(request)
        sockets.upgrade(request, socket, head)
      })
    server.maxConnections = limits.connections
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

  async #handle(call: Call): Promise<void> {
    const started = performance.now()
    const { request, response } = call
    const answer = await this.#answer(call)
    call.letGo()
    if (answer === undefined) return
    // Whoever was not told to send the body may send it or not: nobody could tell it from the next request.
    if (awaitsContinue(request) && !request.complete) response.shouldKeepAlive = false
    response.once('close', () => this.#sent(call))
    await send(request, response, answer, this.#options.cors?.headers(request.headers))
    this.#options.answered?.(answer.status)
    this.#log(call, answer.status, started)
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
      return errorAnswer(failure('ERR_INTERNAL', {}))
    }
  }

  /** Keeps it if it has come and was answered as a whole: then it holds nothing of its body, nor of the answer. */
  #sent(call: Call): void {
    if (!call.request.complete || !call.response.writableFinished) return
    const route = this.#router.find(call.path)
    this.#samples.keep(route && endpointOf(route, call.method), call)
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
    const body = JSON.stringify(failure('ERR_BAD_REQUEST', { cause: badRequest(error) }))
    const head = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`
    socket.end(`HTTP/1.1 400 Bad Request\r\n${head}\r\n\r\n${body}`)
  }

  #log({ request, method, path }: Call, status: number, started: number): void {
    const { log } = this.#options
    if (!log.isDebug) return
    log.debug('request', {
      method,
      path,
      status,
      remote: request.socket.remoteAddress,
      userAgent: request.headers['user-agent'],
      elapsedMs: Number((performance.now() - started).toFixed(1)),
    })
  }
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
