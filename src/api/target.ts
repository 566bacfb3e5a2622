import type { IncomingMessage } from 'node:http'
import { failure } from '../base/errors.ts'

/** The target of a request as whoever talks to a proxy writes it: with the host in front of the path. */
const absolute = /^https?:\/\/([^/?#]*)([^#]*)$/i

/** Makes a request with the host in its target one with the host in its header, where everybody looks for it. */
export function settleTarget(request: IncomingMessage): void {
  const { url = '' } = request
  if (url.startsWith('/')) return
  const [, host, rest] = absolute.exec(url) ?? []
  if (host === undefined || rest === undefined) return
  request.headers.host = host
  request.url = rest.startsWith('/') ? rest : `/${rest}`
}

/** Since HTTP/1.1 everybody has to say whom the request is for. */
export function checkHostHeader({ headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): void {
  const isOlder = httpVersionMajor < 1 || (httpVersionMajor === 1 && httpVersionMinor === 0)
  if (headers.host === undefined && !isOlder) throw failure('ERR_BAD_REQUEST', { cause: 'It has no Host header.' })
}
