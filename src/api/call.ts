import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ShoalError } from '../base/errors.ts'
import { parseCost } from '../client-memory/account.ts'
import { parseJson } from '../json/json-scanner.ts'
import type { BodyHolder, BodyReader } from './body.ts'
import type { Client } from './clients/index.ts'
import type { ParseQueue } from './parse-queue.ts'

/**
 * A request with its response, as handlers see it. Its memory is charged to the connection until the response is made.
 */
export class Call implements BodyHolder {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The raw path, without the query string. */
  readonly path: string
  /** The raw query string, without the question mark. */
  readonly query: string | undefined
  readonly client: Client
  /** The app that sent the request; undefined before it is authenticated. */
  appId: string | undefined
  readonly #bodies: BodyReader
  readonly #parseQueue: ParseQueue
  /** Bytes charged to the connection. */
  #charged = 0

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    bodies: BodyReader,
    parseQueue: ParseQueue,
    client: Client,
  ) {
    this.request = request
    this.response = response
    this.#bodies = bodies
    this.#parseQueue = parseQueue
    this.client = client
    const url = request.url ?? '/'
    const mark = url.indexOf('?')
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.query = mark < 0 ? undefined : url.slice(mark + 1)
  }

  get method(): string {
    return this.request.method ?? 'GET'
  }

  /** Reads the body. Handlers call this after all other checks of the request. */
  body(limit: number): Promise<Buffer> {
    return this.#bodies.read(this.request, this.response, limit, this)
  }

  /** Reads and parses a JSON body. The number of values in it is limited. */
  async json(limit: number): Promise<unknown> {
    const body = await this.body(limit)
    this.hold(parseCost(body.length))
    await this.#parseQueue.wait(body.length)
    return parseJson(body)
  }

  /** Streams the body. The caller must have checked its `Content-Length`. */
  bodyStream(): AsyncGenerator<Buffer> {
    return this.#bodies.stream(this.request, this.response)
  }

  /** Charges bytes until the response is made; throws when that exceeds the memory limit. */
  hold(bytes: number): void {
    if (!this.charge(bytes)) throw this.refusal
  }

  charge(bytes: number): boolean {
    if (!this.client.connection.charge(bytes)) return false
    this.#charged += bytes
    return true
  }

  get refusal(): ShoalError {
    return this.client.connection.refusal
  }

  receiveBody(refuse: (reason: ShoalError) => void): () => void {
    return this.client.http.receiveBody(refuse)
  }

  /** Refunds all charges: the response is made, or the client has disconnected. */
  refundAll(): void {
    this.client.connection.refund(this.#charged)
    this.#charged = 0
  }
}
