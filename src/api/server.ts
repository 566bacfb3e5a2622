import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type ErrorCode, errorTable, messageOf, ShoalError, systemCode } from '../errors.ts'
import { limits } from '../limits.ts'
import type { Logger } from '../log/index.ts'

// An import of node:http reads all of its members, and with them loads a second HTTP client and more: a sixth of the start.
const { createServer } = process.getBuiltinModule('node:http')

export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** What a path answers to a GET. */
export type Routes = Readonly<Record<string, () => Answer>>

/** A server for a fixed set of paths that are read. Whatever a client sends, it gets an answer and the server goes on. */
export function serve(routes: Routes, log: Logger): Server {
  const server = createServer(
    { maxHeaderSize: limits.requestHeadBytes, headersTimeout: limits.requestHeadMs },
    (request, response) => {
      const started = performance.now()
      try {
        send(request, response, answerTo(request, routes))
      } catch (error) {
        log.error(`request failed: ${messageOf(error)}`, { method: request.method, path: pathOf(request) })
        send(request, response, errorAnswer('ERR_INTERNAL'))
      }
      log.debug('request', {
        method: request.method,
        path: pathOf(request),
        status: response.statusCode,
        remote: request.socket.remoteAddress,
        userAgent: request.headers['user-agent'],
        elapsedMs: Number((performance.now() - started).toFixed(1)),
      })
    },
  )
  server.maxConnections = limits.connections
  server.on('clientError', (error, socket) => {
    log.debug(`bad request: ${error.message}`)
    if (!socket.writable) return
    const { body, type } = jsonAnswer(400, new ShoalError('ERR_BAD_REQUEST', `Invalid request. ${badRequest(error)}`))
    socket.end(
      `HTTP/1.1 400 Bad Request\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )
  })
  return server
}

function badRequest(error: Error): string {
  switch (systemCode(error)) {
    case 'HPE_HEADER_OVERFLOW':
      return `Its head has more than ${limits.requestHeadBytes} bytes.`
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return `Its head did not come within ${limits.requestHeadMs} ms.`
    default:
      return 'It is not HTTP/1.1.'
  }
}

export function jsonAnswer(status: number, value: unknown): Answer {
  return { status, type: 'application/json', body: JSON.stringify(value) }
}

export function textAnswer(body: string): Answer {
  return { status: 200, type: 'text/plain; charset=utf-8', body }
}

function errorAnswer(code: ErrorCode): Answer {
  const { status, text } = errorTable[code]
  return jsonAnswer(status, { code, message: text })
}

function answerTo(request: IncomingMessage, routes: Routes): Answer {
  const path = pathOf(request)
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined
  if (route === undefined) return errorAnswer('ERR_NOT_FOUND')
  if (request.method !== 'GET' && request.method !== 'HEAD') return errorAnswer('ERR_METHOD_NOT_ALLOWED')
  return route()
}

/** The path without its query and without one trailing slash. */
function pathOf(request: IncomingMessage): string {
  const [path = '/'] = (request.url ?? '/').split('?')
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

function send(request: IncomingMessage, response: ServerResponse, { status, type, body }: Answer): void {
  if (response.headersSent) return
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
