import type { ShoalError } from '../base/errors.ts'
import { type Refusal, refusalOf } from './refusal.ts'

/** A streamed response body, sent with backpressure. `cancel` stops the producer when the client disconnects. */
export interface StreamedBody extends AsyncIterable<Uint8Array> {
  /** Memory of the producer in bytes, without the output that is buffered in the socket. */
  readonly heldBytes?: number
  cancel(): void
  /** Called when a chunk was written to the socket: its buffer may be released. Not called for small chunks. */
  sent?(chunk: Uint8Array): void
}

/** An HTTP response, as returned by a handler. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | StreamedBody
  /** Why a request was refused, for the log. */
  readonly refusal?: Refusal
  /** Called when a body of bytes was written to the socket: its buffer may be released. Not called for small bodies. */
  sent?(): void
}

/** Responses are not cacheable unless a handler sets another `Cache-Control`. */
const uncached = { 'cache-control': 'no-store' }

export function jsonResponse(status: number, value: unknown): HttpResponse {
  return jsonTextResponse(status, JSON.stringify(value))
}

/** A JSON response with a body that is already serialized. */
export function jsonTextResponse(status: number, body: string | Uint8Array): HttpResponse {
  return { status, headers: { 'content-type': 'application/json', ...uncached }, body }
}

export function textResponse(body: string, cacheControl = 'no-store'): HttpResponse {
  return {
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': cacheControl },
    body,
  }
}

export function emptyResponse(status: number): HttpResponse {
  return { status, headers: uncached, body: '' }
}

export function errorResponse(error: ShoalError): HttpResponse {
  const response = { ...jsonResponse(error.status, error), refusal: refusalOf(error) }
  const { retrySeconds } = error
  if (retrySeconds === undefined) return response
  return { ...response, headers: { ...response.headers, 'retry-after': String(retrySeconds) } }
}

export function isStream(body: HttpResponse['body']): body is StreamedBody {
  return typeof body === 'object' && Symbol.asyncIterator in body
}
