import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ErrorCode, errorTable, messageOf, ShoalError } from '../base/errors.ts'
import { nodeUrl } from './addresses.ts'

/** What the command line says it is. */
const manifest = { appId: 'com.example.shoal-cli', displayName: 'shoal command line', version: '1.0.0' }

export interface ApiRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | number>>
  readonly body?: string | Readable
}

/** The API of a node that is running. */
export class ApiClient {
  /** The URL of the node, without a path. */
  readonly base: string
  readonly #token: string

  private constructor(base: string, token: string) {
    this.base = base
    this.#token = token
  }

  /** Introduces the command line to the node at an address like `localhost:4454`. */
  static async connect(address: string): Promise<ApiClient> {
    const base = nodeUrl(address)
    const body = JSON.stringify(manifest)
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const answer = await send(`${base}/api/v2/auth`, { method: 'POST', headers, body })
    const { token } = JSON.parse(await textOf(answer)) as { token: string }
    return new ApiClient(base, token)
  }

  /** The answer of the node; an error of the node is thrown. */
  get(path: string, given: ApiRequest = {}): Promise<IncomingMessage> {
    const headers = { authorization: `Bearer ${this.#token}`, ...given.headers }
    return send(`${this.base}${path}`, { ...given, headers })
  }

  async text(path: string, given: ApiRequest = {}): Promise<string> {
    return await textOf(await this.get(path, given))
  }
}

async function send(url: string, { method = 'GET', headers = {}, body = '' }: ApiRequest): Promise<IncomingMessage> {
  const asked = request(url, { method, headers, agent: false })
  const answered = answerTo(asked, url)
  // An answer that comes before all was sent says why the rest is not wanted.
  const sent = typeof body === 'string' ? asked.end(body) && answered : Promise.race([answered, sending(body, asked)])
  const answer = (await sent) ?? (await answered)
  if ((answer.statusCode ?? 500) < 400) return answer
  throw errorOf(await textOf(answer), answer.statusCode)
}

async function sending(body: Readable, asked: ClientRequest): Promise<undefined> {
  try {
    await pipeline(body, asked)
  } catch (error) {
    if (body.errored !== null && body.errored === error) throw error
    // The connection: whoever waits for the answer hears of it.
  }
  return undefined
}

function answerTo(asked: ClientRequest, url: string): Promise<IncomingMessage> {
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    asked.once('response', resolve)
    asked.once('error', (error) => {
      const { host } = new URL(url)
      const hint = `No node answers at ${host}. Is one running (\`shoal run\`)? --node names another address.`
      reject(new ShoalError('ERR_IO', hint, { cause: error }))
    })
  })
  answered.catch(() => {})
  return answered
}

export async function textOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of answer) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}

function errorOf(text: string, status: number | undefined): ShoalError {
  try {
    const { code, message } = JSON.parse(text) as { code: string; message: string }
    if (Object.hasOwn(errorTable, code)) return new ShoalError(code as ErrorCode, message)
    return new ShoalError('ERR_IO', message)
  } catch (error) {
    return new ShoalError('ERR_IO', `The node answered ${status}, which is not understood: ${messageOf(error)}`)
  }
}
