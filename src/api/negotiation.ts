import type { IncomingHttpHeaders } from 'node:http'
import { failure } from '../base/errors.ts'

/** Content negotiation: throws unless `Accept` allows this media type. Quality values (`q=`) are not evaluated. */
export function checkAccept({ accept }: IncomingHttpHeaders, type: string): void {
  if (accept === undefined || accept === '*/*' || accept === type) return
  const elements = accept.split(',').map((element) => element.trim().toLowerCase())
  if (!elements.includes('*/*') && !elements.includes(type)) throw failure('ERR_NOT_ACCEPTABLE', { accept, type })
}

/** The kinds of JSON in request bodies, with their media types. */
const jsonTypes = {
  json: ['application/json'],
  'merge-patch': ['application/merge-patch+json', 'application/json'],
} as const
export type JsonKind = keyof typeof jsonTypes

/** Throws when the `Content-Type` is present and not JSON. */
export function checkJsonContent(headers: IncomingHttpHeaders, kind: JsonKind): void {
  const type = headers['content-type']
  if (type === undefined || type === 'application/json') return
  const [, essence] = /^\s*([^\s/;]+\/[^\s/;]+)\s*(?:;|$)/.exec(type) ?? []
  const allowed: readonly string[] = jsonTypes[kind]
  if (!allowed.includes(essence?.toLowerCase() ?? '')) throw failure('ERR_UNSUPPORTED_MEDIA_TYPE', {})
}
