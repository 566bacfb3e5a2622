import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { type ErrorCode, failure, type ShoalError } from '../base/errors.ts'
import { errorOf } from './api-client.ts'

/** A client of a running node: through its control socket, or its admin port. */
export interface NodeClient {
  /** Sends a request. Throws the error of an error response. */
  request<T>(sent: NodeRequest): Promise<T>
  /** The same with an answer that is read as it arrives, for as long as it takes. */
  stream(sent: NodeRequest): Promise<IncomingMessage>
}

export interface NodeRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** The path below `/api/v2/admin`, with its query string. */
  readonly path: string
  readonly body?: unknown
  /** The body as JSON text, instead. */
  readonly text?: string
  /** A body that is streamed, instead. */
  readonly upload?: Upload
  /** The revision of the settings that a change is for. */
  readonly ifRevision?: number | undefined
  /** The answer may take long, since it depends on the size of the store. */
  readonly isLong?: boolean
  /** The command that shows whether a change was made, when the answer to it was lost. */
  readonly check?: string
  /** The errors of nodes that know this request, of those that otherwise mean that a node does not know it. */
  readonly errors?: readonly string[]
}

export interface Upload {
  readonly type: string
  readonly length: number
  /** Makes the body, again for each attempt. */
  readonly stream: () => Readable
}

/** The body of a request, and its headers. */
export function bodyOf({ body, text, upload, ifRevision }: NodeRequest): {
  readonly body: string | Readable
  readonly headers: Readonly<Record<string, string | number>>
} {
  if (upload !== undefined) {
    const { type, length } = upload
    // Else a node closes the connection after an answer before the end of the body, and the answer may be lost.
    const connection = 'keep-alive'
    return { body: upload.stream(), headers: { 'content-type': type, 'content-length': length, connection } }
  }
  const json = text ?? (body === undefined ? '' : JSON.stringify(body))
  const type = json !== '' && { 'content-type': 'application/json' }
  // The node refuses a change for another revision than the one in force.
  const ifMatch = ifRevision !== undefined && { 'if-match': `"${ifRevision}"` }
  return { body: json, headers: { 'content-length': Buffer.byteLength(json), ...type, ...ifMatch } }
}

/** The codes with which a node answers what it has no route for. */
const unknownRoute: readonly ErrorCode[] = ['ERR_NOT_FOUND', 'ERR_METHOD_NOT_ALLOWED']

/** The error of an answer. */
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
