import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { type ErrorCode, errorTable, failure, messageOf, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { request } from '../../base/node-http.ts'
import type { Timers } from '../../runtime/timers.ts'
import { nodeUrl } from '../address-options.ts'
import { reasonOf } from './node-connection.ts'
import { parseResponse, type ResponseLimits, readText } from './response-body.ts'
import { sendBody } from './send-body.ts'

/** The app manifest of the command line. */
const manifest = { appId: 'com.example.shoal-cli', displayName: 'shoal command line', version: '1.0.0' }

export interface ApiRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | number>>
  readonly body?: string | Readable
}

/** A client for the HTTP API of a running node. */
export class ApiClient {
  /** The URL of the node, without a path. */
  readonly base: string
  readonly #token: string
  readonly #limited: ResponseLimits
  readonly #agent: Agent | false

  private constructor(base: string, token: string, timers: Timers, agent: Agent | false) {
    this.base = base
    this.#token = token
    this.#agent = agent
    this.#limited = { maxBytes: limits.commandAnswerBytes, timeoutMs: limits.longControlAnswerMs, timers }
  }

  /** Gets a token from the node at an address like `localhost:4454`. Without an agent requests share no connection. */
  static async connect(address: string, timers: Timers, agent: Agent | false = false): Promise<ApiClient> {
    const base = nodeUrl(address)
    const body = JSON.stringify(manifest)
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const limited = { maxBytes: limits.signInAnswerBytes, timeoutMs: limits.controlAnswerMs, timers }
    const response = await send(`${base}/api/v2/auth`, { method: 'POST', headers, body }, limited)
    const answer = parseResponse<{ token?: unknown } | null>(await bodyOf(response, limited), base)
    if (typeof answer?.token !== 'string') throw notANode(base)
    return new ApiClient(base, answer.token, timers, agent)
  }

  /** Sends a request. Throws the error of an error response. */
  get(path: string, options: ApiRequest = {}): Promise<IncomingMessage> {
    const headers = { authorization: `Bearer ${this.#token}`, ...options.headers }
    return send(`${this.base}${path}`, { ...options, headers }, this.#limited, this.#agent)
  }

  async text(path: string, options: ApiRequest = {}): Promise<string> {
    return await this.bodyOf(await this.get(path, options))
  }

  async json<T>(response: IncomingMessage): Promise<T> {
    return parseResponse<T>(await this.bodyOf(response), this.base)
  }

  bodyOf(response: IncomingMessage): Promise<string> {
    return bodyOf(response, this.#limited)
  }
}

function notANode(base: string): ShoalError {
  return failure('ERR_NODE_UNREACHABLE', { cause: `${base} does not answer as a node does` })
}

async function send(
  url: string,
  { method = 'GET', headers = {}, body = '' }: ApiRequest,
  limited: ResponseLimits,
  agent: Agent | false = false,
): Promise<IncomingMessage> {
  const outgoing = request(url, { method, headers, agent })
  const response = await sendBody(outgoing, body, responseTo(outgoing, url))
  if ((response.statusCode ?? 500) < 400) return response
  throw errorOf(await bodyOf(response, limited), response.statusCode)
}

function responseTo(outgoing: ClientRequest, url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once('response', resolve)
    outgoing.once('error', (error) => {
      const at = `${new URL(url).host}: ${reasonOf(error)}`
      reject(failure('ERR_NODE_UNREACHABLE', { cause: `${at}. Is a node running there (\`shoal run\`)?` }))
    })
  })
}

async function bodyOf(response: IncomingMessage, limited: ResponseLimits): Promise<string> {
  try {
    return await readText(response, limited)
  } catch (error) {
    throw new ShoalError('ERR_IO', 'The answer of the node could not be read.', { cause: error })
  }
}

/** The error in the body of an error response. */
export function errorOf(text: string, status: number | undefined): ShoalError {
  try {
    const { code, message } = JSON.parse(text) as { code: string; message: string }
    if (Object.hasOwn(errorTable, code)) return new ShoalError(code as ErrorCode, message)
    return new ShoalError('ERR_IO', message)
  } catch (error) {
    return new ShoalError('ERR_IO', `Unexpected response with status ${status}: ${messageOf(error)}`)
  }
}
