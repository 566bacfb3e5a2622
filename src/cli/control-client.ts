import type { ClientRequest, IncomingMessage } from 'node:http'
import { controlSocketOf, isTooLongForSocket } from '../admin/control-path.ts'
import { failure, messageOf, type ShoalError, systemCode } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { request } from '../base/node-http.ts'
import type { Timers } from '../runtime/timers.ts'
import { accessDenied, lockHolder } from '../store/index.ts'
import { AnswerRefused, parsedAnswer, textOf } from './answers.ts'
import { errorOf } from './api-client.ts'
import { verbose } from './verbose.ts'

/** No node answers on the control socket: none runs, or it is starting or stopping. */
export class NoNode extends Error {
  override readonly name = 'NoNode'
}

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
  /** The revision of the settings that a change is for. */
  readonly ifRevision?: number | undefined
  /** The answer may take long, since it depends on the size of the store. */
  readonly isLong?: boolean
  /** The command that shows whether a change was made, when the answer to it was lost. */
  readonly check?: string
}

/** A client for the control socket of a data folder. */
export class ControlClient implements NodeClient {
  readonly #folder: string
  readonly #timers: Timers
  readonly #answerMs: number

  constructor(folder: string, timers: Timers, answerMs: number = limits.controlAnswerMs) {
    this.#folder = folder
    this.#timers = timers
    this.#answerMs = answerMs
  }

  /** Sends a request. Throws the error of an error response, and `NoNode` if it is certain that nothing was done. */
  async request<T>(sent: NodeRequest): Promise<T> {
    const response = await this.stream(sent)
    return parsedAnswer<T>(await this.#body(response, sent), `the node of the data directory \`${this.#folder}\``)
  }

  async stream(sent: NodeRequest): Promise<IncomingMessage> {
    const text = requestText(sent)
    const timeout = this.#timeoutOf(sent)
    const outgoing = request({
      socketPath: this.#socketPath(),
      method: sent.method,
      path: `/api/v2/admin${sent.path}`,
      headers: {
        host: 'localhost',
        'content-length': Buffer.byteLength(text),
        ...(text !== '' && { 'content-type': 'application/json' }),
        ...ifMatch(sent),
      },
      agent: false,
      timeout,
    })
    outgoing.once('timeout', () => outgoing.destroy(this.#silent(timeout)))
    const response = await this.#response(outgoing, text, sent)
    verbose('DEBUG', `${sent.method} ${sent.path}: ${response.statusCode} from the control socket of ${this.#folder}`)
    if ((response.statusCode ?? 500) < 400) return response
    throw refusalOf(await this.#body(response, sent), response.statusCode, sent)
  }

  #socketPath(): string {
    let path: string
    try {
      path = controlSocketOf(this.#folder)
    } catch (error) {
      throw accessDenied(this.#folder, error) ?? error
    }
    // A node would have its socket elsewhere, and a file that names it.
    if (isTooLongForSocket(path)) throw new NoNode('the data directory names no control socket')
    return path
  }

  #response(outgoing: ClientRequest, text: string, sent: NodeRequest): Promise<IncomingMessage> {
    let isConnected = false
    return new Promise((resolve, reject) => {
      outgoing.once('socket', (socket) =>
        socket.once('connect', () => {
          isConnected = true
        }),
      )
      outgoing.once('response', resolve)
      outgoing.once('error', (error) => reject(isConnected ? this.#lost(error, sent) : this.#notConnected(error)))
      outgoing.end(text)
    })
  }

  async #body(response: IncomingMessage, sent: NodeRequest): Promise<string> {
    try {
      const maxBytes = limits.commandAnswerBytes
      return await textOf(response, { maxBytes, timeoutMs: this.#timeoutOf(sent), timers: this.#timers })
    } catch (error) {
      throw error instanceof AnswerRefused ? this.#unreachable(error.message) : this.#lost(error, sent)
    }
  }

  #timeoutOf({ isLong }: NodeRequest): number {
    return isLong === true ? limits.longControlAnswerMs : this.#answerMs
  }

  #notConnected(error: Error): Error {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTSOCK') return new NoNode(error.message)
    return accessDenied(this.#folder, error) ?? this.#unreachable(messageOf(error))
  }

  /** The connection broke before the end of the answer. Reading can be repeated; a change may have been made. */
  #lost(error: unknown, { method, check }: NodeRequest): Error {
    if (systemCode(error) === 'ERR_NODE_UNREACHABLE') return error as Error
    if (method === 'GET') return new NoNode(messageOf(error))
    const hint = check === undefined ? '' : ` \`${check}\` shows it.`
    return this.#unreachable(`it stopped before it answered. It is not known whether it has done this.${hint}`)
  }

  #silent(timeoutMs: number): ShoalError {
    const pid = lockHolder(this.#folder)
    const who = pid === undefined ? '' : ` (PID ${pid})`
    return this.#unreachable(`the process${who} has not answered for ${timeoutMs / 1000} s`)
  }

  #unreachable(detail: string): ShoalError {
    return failure('ERR_NODE_UNREACHABLE', { cause: `the node of the data directory \`${this.#folder}\`: ${detail}` })
  }
}

/** The body of a request. */
export function requestText({ body, text }: NodeRequest): string {
  return text ?? (body === undefined ? '' : JSON.stringify(body))
}

/** The header with which a node refuses a change for another revision than the one in force. */
export function ifMatch({ ifRevision }: NodeRequest): { 'if-match'?: string } {
  return ifRevision === undefined ? {} : { 'if-match': `"${ifRevision}"` }
}

/** The error of an answer. A node does not find what it has no route for. */
export function refusalOf(text: string, status: number | undefined, { method, path }: NodeRequest): ShoalError {
  const error = errorOf(text, status)
  if (error.code !== 'ERR_NOT_FOUND' && error.code !== 'ERR_METHOD_NOT_ALLOWED') return error
  const asked = `${method} ${path.replace(/\?.*$/, '')}`
  return failure('ERR_UNSUPPORTED', {
    cause: `The node does not support this request (${asked}): its version is older.`,
  })
}
