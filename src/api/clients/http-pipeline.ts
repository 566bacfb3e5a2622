import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Connection, ConnectionProtocol } from './connection.ts'

/**
 * HTTP on a connection. Pipelined requests are handled one at a time: HTTP/1.1 sends the responses in order anyway, and
 * the memory that a pipelining client can use is bounded and charged.
 */
export class HttpPipeline implements ConnectionProtocol {
  readonly #socket: Socket
  readonly #connection: Connection
  #isServing = false
  #waiting: { readonly start: () => void; readonly bytes: number }[] = []
  /** Aborts the request body that is being received. */
  #refuseBody: ((reason: ShoalError) => void) | undefined
  /** `bytesRead` at the end of the last request: later bytes belong to the head of the next one. */
  #headStart = 0
  /** Bytes charged for an unfinished request head. */
  #head = 0

  constructor(socket: Socket, connection: Connection) {
    this.#socket = socket
    this.#connection = connection
  }

  outputBytes(): number {
    return this.#socket.writableLength
  }

  isReceiving(): boolean {
    return this.#refuseBody !== undefined || (!this.#isServing && this.#chargeHead())
  }

  evict(reason: ShoalError): void {
    // A client that does not read its responses cannot get an error response.
    if (this.#refuseBody !== undefined && this.#socket.writableLength === 0) this.#refuseBody(reason)
    else this.#socket.destroy()
  }

  /** Handles a request as soon as the requests before it on this connection are done. */
  serve(request: IncomingMessage, start: () => void): void {
    if (!this.#isServing) {
      this.#isServing = true
      this.#refundHead()
      start()
      return
    }
    // Node has already parsed the received part of the body. In tiny chunks it takes a multiple of its size.
    const isChunked = request.headers['transfer-encoding'] !== undefined
    const bytes = isChunked ? limits.pipelinedChunkedBytes : limits.pipelinedRequestBytes
    if (!this.#connection.charge(bytes)) {
      this.#socket.destroy()
      return
    }
    this.#waiting.push({ start, bytes })
    this.#socket.pause()
  }

  /** The response to the current request is sent: starts the next pipelined request. */
  served(): void {
    // The client has disconnected.
    if (this.#socket.destroyed) this.#waiting = []
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#isServing = false
      this.#headStart = this.#socket.bytesRead
      return
    }
    this.#connection.refund(next.bytes)
    if (this.#waiting.length === 0) this.#socket.resume()
    next.start()
  }

  /** Marks a body as being received until the returned function is called. `refuse` aborts it. */
  receiveBody(refuse: (reason: ShoalError) => void): () => void {
    this.#refuseBody = refuse
    return () => {
      this.#refuseBody = undefined
    }
  }

  /** Charges the received part of the next request head; false when there is none. */
  #chargeHead(): boolean {
    const bytes = Math.min(limits.requestHeadBytes, this.#socket.bytesRead - this.#headStart)
    if (bytes <= this.#head) return bytes > 0
    if (this.#connection.charge(bytes - this.#head)) this.#head = bytes
    else this.#socket.destroy()
    return true
  }

  #refundHead(): void {
    if (this.#head === 0) return
    this.#connection.refund(this.#head)
    this.#head = 0
  }
}
