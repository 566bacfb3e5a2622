import type { IncomingHttpHeaders } from 'node:http'
import { failure } from '../base/errors.ts'

/** Content negotiation: throws unless `Accept` allows this media type. Quality values (`q=`) are not evaluated. */
export function checkAccept({ accept }: IncomingHttpHeaders, type: string): void {
  if (accept === undefined || accept === '*/*' || accept === type) return
  const elements = accept.split(',').map((element) => element.trim().toLowerCase())
  if (!elements.includes('*/*') && !elements.includes(type)) throw failure('ERR_NOT_ACCEPTABLE', { accept, type })
}

/** Throws when the `Content-Type` is present and not JSON. */
export function checkJsonContent(headers: IncomingHttpHeaders): void {
  const type = headers['content-type']
  if (type === undefined || type === 'application/json') return
  const [, essence] = /^\s*([^\s/;]+\/[^\s/;]+)\s*(?:;|$)/.exec(type) ?? []
  if (essence?.toLowerCase() !== 'application/json') throw failure('ERR_UNSUPPORTED_MEDIA_TYPE', {})
}
