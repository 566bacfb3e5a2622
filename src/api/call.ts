import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ShoalError } from '../base/errors.ts'
import { parseCost } from '../client-memory/account.ts'
import { parseJson } from '../json/json-scanner.ts'
import type { BodyHolder, BodyReader } from './body.ts'
import type { Client } from './clients/index.ts'
import type { ParseTurns } from './turns.ts'

/** A request on its way to whoever answers it. What it makes the node hold is charged to its connection until it is answered. */
export class Call implements BodyHolder {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The path as it came, without the query. */
  readonly path: string
  /** The query as it came, without the question mark; nothing when there is none. */
  readonly query: string | undefined
  readonly client: Client
  readonly #bodies: BodyReader
  readonly #turns: ParseTurns
  /** Bytes that were charged. */
  #charged = 0

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    bodies: BodyReader,
    turns: ParseTurns,
    client: Client,
  ) {
    this.request = request
    this.response = response
    this.#bodies = bodies
    this.#turns = turns
    this.client = client
    const url = request.url ?? '/'
    const mark = url.indexOf('?')
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.query = mark < 0 ? undefined : url.slice(mark + 1)
  }

  get method(): string {
    return this.request.method ?? 'GET'
  }

  /** The body, which is read when somebody asks for it: not before everything else about the request was found good. */
  body(limit: number): Promise<Buffer> {
    return this.#bodies.read(this.request, this.response, limit, this)
  }

  /** The body as JSON; of its values there may be no more than a limit. */
  async json(limit: number): Promise<unknown> {
    const body = await this.body(limit)
    this.hold(parseCost(body.length))
    await this.#turns.next(body.length)
    return parseJson(body)
  }

  /** The body as it comes. It has a length that is known, and that somebody has looked at. */
  bodyStream(): AsyncGenerator<Buffer> {
    return this.#bodies.stream(this.request, this.response)
  }

  /** Charges bytes until the call is answered; throws when there is no room for them. */
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

  /** Refunds what was charged: the call is answered, or there is nobody left to answer. */
  letGo(): void {
    this.client.connection.refund(this.#charged)
    this.#charged = 0
  }
}
