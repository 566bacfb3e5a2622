import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BodyReader } from './body.ts'

/** A request on its way to whoever answers it. */
export class Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The path as it came, without the query. */
  readonly path: string
  /** The query as it came, without the question mark; nothing when there is none. */
  readonly query: string | undefined
  readonly #bodies: BodyReader
  /** Bytes of the body that have come. */
  #held = 0

  constructor(request: IncomingMessage, response: ServerResponse, bodies: BodyReader) {
    this.request = request
    this.response = response
    this.#bodies = bodies
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
    return this.#bodies.read(this.request, this.response, limit, this.#holds)
  }

  /** It is answered, or nobody waits for that: nobody needs its body any more. */
  letGo(): void {
    this.#bodies.letGo(this.#held)
    this.#held = 0
  }

  readonly #holds = (bytes: number): void => {
    this.#held += bytes
  }

  /** The body as it comes. It has a length that is known, and that somebody has looked at. */
  bodyStream(): AsyncGenerator<Buffer> {
    return this.#bodies.stream(this.request, this.response)
  }
}
