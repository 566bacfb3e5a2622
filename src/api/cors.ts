import type { IncomingHttpHeaders } from 'node:http'
import { failure } from '../base/errors.ts'
import { errorResponse, type HttpResponse } from './response.ts'

const methods = ['GET', 'POST', 'PUT', 'DELETE']
const headers = ['authorization', 'content-type', 'accept']

/** Which requests of websites are answered. */
export interface OriginRule {
  /** Headers for the response; nothing for a request without an `Origin`. */
  headers(request: IncomingHttpHeaders): Record<string, string> | undefined
  /** The response to a preflight request or to a disallowed origin; nothing for requests that may pass. */
  respond(method: string | undefined, request: IncomingHttpHeaders): HttpResponse | undefined
}

/** CORS: the origins that may use the API from a browser. All origins, unless there is an allowlist. */
export class Cors implements OriginRule {
  readonly #origins: ReadonlySet<string> | undefined

  constructor(origins?: readonly string[]) {
    this.#origins = origins && new Set(origins)
  }

  headers({ origin }: IncomingHttpHeaders): Record<string, string> | undefined {
    return origin === undefined ? undefined : { 'access-control-allow-origin': origin, vary: 'origin' }
  }

  respond(method: string | undefined, request: IncomingHttpHeaders): HttpResponse | undefined {
    const { origin, host } = request
    if (origin === undefined) return undefined
    if (!this.#allows(origin, host)) return forbidden('origin not allowed')
    return method === 'OPTIONS' ? preflight(request) : undefined
  }

  #allows(origin: string, host: string | undefined): boolean {
    // Same origin: a website that this node serves.
    return this.#origins === undefined || this.#origins.has(origin) || origin === `http://${host}`
  }
}

/** Refuses every website, except pages of this server itself. */
export class SameOrigin implements OriginRule {
  headers(): undefined {
    return undefined
  }

  respond(_method: string | undefined, { origin, host }: IncomingHttpHeaders): HttpResponse | undefined {
    const isOwn = origin === undefined || origin === `http://${host}` || origin === `https://${host}`
    return isOwn ? undefined : errorResponse(failure('ERR_ORIGIN_NOT_ALLOWED', { origin }))
  }
}

function preflight(request: IncomingHttpHeaders): HttpResponse {
  const method = request['access-control-request-method']
  if (method === undefined || !methods.includes(method)) return forbidden('request-method not allowed')
  const requested = (request['access-control-request-headers'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
  if (requested.some((name) => name !== '' && !headers.includes(name))) return forbidden('header not allowed')
  return {
    status: 200,
    headers: {
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': headers.join(', '),
    },
    body: '',
  }
}

function forbidden(reason: string): HttpResponse {
  return {
    status: 403,
    refusal: { status: 403, code: 'CORS', cause: reason },
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: `CORS request forbidden: ${reason}`,
  }
}
