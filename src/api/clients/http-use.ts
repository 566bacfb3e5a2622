import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Connection, ConnectionUse } from './connection.ts'

/**
 * HTTP on a connection. Requests are served one at a time: HTTP/1.1 answers them in their order anyway, and what a
 * pipelining client makes the node hold is bounded and charged.
 */
export class HttpUse implements ConnectionUse {
  readonly #socket: Socket
  readonly #connection: Connection
  #isServing = false
  #waiting: { readonly start: () => void; readonly bytes: number }[] = []
  /** Ends the body that is being received. */
  #refuseBody: ((reason: ShoalError) => void) | undefined
  /** `bytesRead` when the last request was served: what came after it is the head of the next. */
  #headStart = 0
  /** Bytes of an unfinished head that are charged. */
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
    // Who does not read cannot be told anything.
    if (this.#refuseBody !== undefined && this.#socket.writableLength === 0) this.#refuseBody(reason)
    else this.#socket.destroy()
  }

  /** Serves a request, as soon as those before it on this connection are done. */
  serve(request: IncomingMessage, start: () => void): void {
    if (!this.#isServing) {
      this.#isServing = true
      this.#refundHead()
      start()
      return
    }
    // Node parses all that has come with it: a body in tiny chunks takes up a multiple of its bytes.
    const isChunked = request.headers['transfer-encoding'] !== undefined
    const bytes = isChunked ? limits.waitingChunkedBytes : limits.waitingRequestBytes
    if (!this.#connection.charge(bytes)) {
      this.#socket.destroy()
      return
    }
    this.#waiting.push({ start, bytes })
    this.#socket.pause()
  }

  /** The request that was served last is answered. */
  served(): void {
    // There is nobody left to answer.
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

  /** A body is received until the function that is returned is called; `refuse` ends it early. */
  receiveBody(refuse: (reason: ShoalError) => void): () => void {
    this.#refuseBody = refuse
    return () => {
      this.#refuseBody = undefined
    }
  }

  /** Charges the head of the next request as far as it has come; answers whether there is some of it. */
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
