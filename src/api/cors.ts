import type { IncomingHttpHeaders } from 'node:http'
import type { Answer } from './answer.ts'

const methods = ['GET', 'POST', 'PUT', 'DELETE']
const headers = ['authorization', 'content-type', 'accept']

/** Which websites may use the API from a browser: all of them, unless a list says which. */
export class Cors {
  readonly #origins: ReadonlySet<string> | undefined

  constructor(origins?: readonly string[]) {
    this.#origins = origins && new Set(origins)
  }

  /** The headers that let a website see the answer; nothing when the request comes from none. */
  headers({ origin }: IncomingHttpHeaders): Record<string, string> | undefined {
    return origin === undefined ? undefined : { 'access-control-allow-origin': origin, vary: 'origin' }
  }

  /** The answer to a request that is not let through to the API: one that only asks, or one from a website that may not. */
  answer(method: string | undefined, request: IncomingHttpHeaders): Answer | undefined {
    const { origin, host } = request
    if (origin === undefined) return undefined
    if (!this.#allows(origin, host)) return forbidden('origin not allowed')
    return method === 'OPTIONS' ? preflight(request) : undefined
  }

  #allows(origin: string, host: string | undefined): boolean {
    // A website of this node is no stranger to it.
    return this.#origins === undefined || this.#origins.has(origin) || origin === `http://${host}`
  }
}

function preflight(request: IncomingHttpHeaders): Answer {
  const method = request['access-control-request-method']
  if (method === undefined || !methods.includes(method)) return forbidden('request-method not allowed')
  const asked = (request['access-control-request-headers'] ?? '').split(',').map((name) => name.trim().toLowerCase())
  if (asked.some((name) => name !== '' && !headers.includes(name))) return forbidden('header not allowed')
  return {
    status: 200,
    headers: {
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': headers.join(', '),
    },
    body: '',
  }
}

function forbidden(reason: string): Answer {
  return {
    status: 403,
    refusal: 'CORS',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: `CORS request forbidden: ${reason}`,
  }
}
