import type { ClientRequest, IncomingMessage } from 'node:http'
import { controlSocketOf, isTooLongForSocket } from '../../admin/control-path.ts'
import { failure, messageOf, type ShoalError, systemCode } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { request } from '../../base/node-http.ts'
import type { Timers } from '../../runtime/timers.ts'
import { accessDenied, lockHolder } from '../../store/index.ts'
import { verbose } from '../output/verbose.ts'
import { bodyOf, type NodeClient, type NodeRequest, refusalOf } from './node-client.ts'
import { parseResponse, ResponseRejected, readText } from './response-body.ts'
import { sendBody } from './send-body.ts'

/**
 * The control socket did not respond, and the request has changed nothing, so that it can be repeated: no node runs, it
 * is starting or stopping, or it stopped while it answered a `GET`.
 */
export class NoNode extends Error {
  override readonly name = 'NoNode'
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

  /** Sends a request. Throws the error of an error response, and `NoNode` if it certainly had no effect. */
  async request<T>(sent: NodeRequest): Promise<T> {
    const response = await this.stream(sent)
    return parseResponse<T>(await this.#body(response, sent), `the node of the data directory \`${this.#folder}\``)
  }

  async stream(sent: NodeRequest): Promise<IncomingMessage> {
    const { body, headers } = bodyOf(sent)
    const timeout = this.#timeoutOf(sent)
    const outgoing = request({
      socketPath: this.#socketPath(),
      method: sent.method,
      path: `/api/v2/admin${sent.path}`,
      headers: { host: 'localhost', ...headers },
      agent: false,
      timeout,
    })
    outgoing.once('timeout', () => outgoing.destroy(this.#silent(timeout)))
    const response = await sendBody(outgoing, body, this.#response(outgoing, sent))
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
    // A running node would have its socket elsewhere, and `control.path` would name it.
    if (isTooLongForSocket(path)) throw new NoNode('the data directory names no control socket')
    return path
  }

  #response(outgoing: ClientRequest, sent: NodeRequest): Promise<IncomingMessage> {
    let isConnected = false
    return new Promise((resolve, reject) => {
      outgoing.once('socket', (socket) =>
        socket.once('connect', () => {
          isConnected = true
        }),
      )
      outgoing.once('response', resolve)
      outgoing.once('error', (error) => reject(isConnected ? this.#lost(error, sent) : this.#notConnected(error)))
    })
  }

  async #body(response: IncomingMessage, sent: NodeRequest): Promise<string> {
    try {
      const maxBytes = limits.commandAnswerBytes
      return await readText(response, { maxBytes, timeoutMs: this.#timeoutOf(sent), timers: this.#timers })
    } catch (error) {
      throw error instanceof ResponseRejected ? this.#unreachable(error.message) : this.#lost(error, sent)
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

  /** The connection was closed before the end of the response. Reading can be repeated; a change may have been made. */
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
