import type { IncomingHttpHeaders } from 'node:http'
import { failure } from '../base/errors.ts'

/** Throws unless the client takes an answer of this type. Elements are compared as they are: weights are not looked at. */
export function checkAccept({ accept }: IncomingHttpHeaders, type: string): void {
  if (accept === undefined || accept === '*/*' || accept === type) return
  const elements = accept.split(',').map((element) => element.trim().toLowerCase())
  if (!elements.includes('*/*') && !elements.includes(type)) throw failure('ERR_NOT_ACCEPTABLE', { accept, type })
}

/** Throws when the client says that its body is something else than JSON. */
export function checkJsonContent(headers: IncomingHttpHeaders): void {
  const type = headers['content-type']
  if (type === undefined || type === 'application/json') return
  const [, essence] = /^\s*([^\s/;]+\/[^\s/;]+)\s*(?:;|$)/.exec(type) ?? []
  if (essence?.toLowerCase() !== 'application/json') throw failure('ERR_UNSUPPORTED_MEDIA_TYPE', {})
}
