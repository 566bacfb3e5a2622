import type { IncomingMessage } from 'node:http'
import { invalidRequest } from '../base/errors.ts'

/** A request target in absolute form (RFC 9112, section 3.2.2), as clients send it to a proxy. */
const absolute = /^https?:\/\/([^/?#]*)([^#]*)$/i

/** Turns a target in absolute form into origin form; its host replaces the `Host` header. */
export function normalizeTarget(request: IncomingMessage): void {
  const { url = '' } = request
  if (url.startsWith('/')) return
  const [, host, rest] = absolute.exec(url) ?? []
  if (host === undefined || rest === undefined) return
  request.headers.host = host
  request.url = rest.startsWith('/') ? rest : `/${rest}`
}

/** Throws when an HTTP/1.1 request has no `Host` header (RFC 9112, section 3.2). */
export function checkHostHeader({ headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): void {
  const isOlder = httpVersionMajor < 1 || (httpVersionMajor === 1 && httpVersionMinor === 0)
  if (headers.host === undefined && !isOlder) throw invalidRequest('The Host header is missing.')
}
