import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { type ErrorCode, failure, type ShoalError } from '../../base/errors.ts'
import { errorOf } from './api-client.ts'

/** A client of a running node: through its control socket, or its admin port. */
export interface NodeClient {
  /** Sends a request. Throws the error of an error response. */
  request<T>(sent: NodeRequest): Promise<T>
  /** Sends a request and returns the response before its body has arrived; the body has no time-out. */
  stream(sent: NodeRequest): Promise<IncomingMessage>
}

export interface NodeRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** The path below `/api/v2/admin`, with its query string. */
  readonly path: string
  readonly body?: unknown
  /** The body as JSON text, instead of `body`. */
  readonly text?: string
  /** A streamed body, instead of `body`. */
  readonly upload?: Upload
  /** The revision of the settings that has to be in force: `If-Match`. */
  readonly ifRevision?: number | undefined
  /** Whether the response may take long, because it depends on the size of the store or of a body. */
  readonly isLong?: boolean
  /** The command that shows whether a change was made, for the error when the response is lost. */
  readonly check?: string
  /** Of `ERR_NOT_FOUND` and `ERR_METHOD_NOT_ALLOWED`, those that do not mean that the node lacks the route. */
  readonly errors?: readonly string[]
}

export interface Upload {
  readonly type: string
  readonly length: number
  /** Makes the body anew for each attempt. */
  readonly stream: () => Readable
}

/** The body of a request, and its headers. */
export function bodyOf({ body, text, upload, ifRevision }: NodeRequest): {
  readonly body: string | Readable
  readonly headers: Readonly<Record<string, string | number>>
} {
  if (upload !== undefined) {
    const { type, length } = upload
    // Otherwise a node that responds before the end of the body closes the connection, and the response may be lost.
    const connection = 'keep-alive'
    return { body: upload.stream(), headers: { 'content-type': type, 'content-length': length, connection } }
  }
  const json = text ?? (body === undefined ? '' : JSON.stringify(body))
  const type = json !== '' && { 'content-type': 'application/json' }
  // The node refuses a change for another revision than the one in force.
  const ifMatch = ifRevision !== undefined && { 'if-match': `"${ifRevision}"` }
  return { body: json, headers: { 'content-length': Buffer.byteLength(json), ...type, ...ifMatch } }
}

/** The codes with which a node refuses requests for which it has no route. */
const unknownRoute: readonly ErrorCode[] = ['ERR_NOT_FOUND', 'ERR_METHOD_NOT_ALLOWED']

/** The error of an error response. A missing route means that the node has an older version. */
export function refusalOf(
  text: string,
  status: number | undefined,
  { method, path, errors = [] }: NodeRequest,
): ShoalError {
  const error = errorOf(text, status)
  if (!unknownRoute.includes(error.code) || errors.includes(error.code)) return error
  const asked = `${method} ${path.replace(/\?.*$/, '')}`
  return failure('ERR_UNSUPPORTED', {
    cause: `The node does not support this request (${asked}): its version is older.`,
  })
}
