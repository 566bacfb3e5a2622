import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { WebSocket } from 'ws'

/** A message from the node. */
export interface SocketMessage {
  readonly type: 'next' | 'complete' | 'error'
  readonly requestId: number
  readonly payload?: readonly Record<string, unknown>[]
  readonly kind?: Readonly<Record<string, unknown>>
}

/** A WebSocket client that records all messages. */
export class TestSocket {
  readonly socket: WebSocket
  /** All received messages. */
  readonly texts: string[] = []
  /** The close code. */
  readonly closed: Promise<number>
  #waiting: (() => void)[] = []
  #taken = 0
  #nextSettled = 1_000_000

  private constructor(socket: WebSocket) {
    this.socket = socket
    this.closed = new Promise((resolve) => socket.on('close', resolve))
    socket.on('message', (data) => {
      this.texts.push(String(data))
      for (const wake of this.#waiting.splice(0)) wake()
    })
    socket.on('close', () => {
      for (const wake of this.#waiting.splice(0)) wake()
    })
  }

  static async open(t: TestContext, { url, token }: { url: string; token: string }): Promise<TestSocket> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/api/v2/events?${token}`)
    t.after(() => socket.terminate())
    const client = new TestSocket(socket)
    await once(socket, 'open')
    return client
  }

  get messages(): SocketMessage[] {
    return this.texts.map((text) => JSON.parse(text) as SocketMessage)
  }

  send(message: string | Buffer | object): void {
    this.socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message))
  }

  request(requestId: number, serviceId: string, payload: unknown): void {
    this.send({ type: 'request', serviceId, requestId, payload })
  }

  cancel(requestId: number): void {
    this.send({ type: 'cancel', requestId })
  }

  /** The next unread message. */
  async take(): Promise<SocketMessage> {
    const taken = this.#taken++
    return await this.#when(() => {
      const text = this.texts[taken]
      return text === undefined ? undefined : (JSON.parse(text) as SocketMessage)
    })
  }

  /** Waits until a request is complete. Returns all its messages. */
  async answered(requestId: number): Promise<SocketMessage[]> {
    const end = `{"type":"complete","requestId":${requestId}}`
    await this.#when(() => this.texts.includes(end) || undefined)
    return this.messages.filter((message) => message.requestId === requestId)
  }

  /** A barrier: its response comes after everything that was sent before. */
  async settled(): Promise<void> {
    const id = this.#nextSettled++
    this.request(id, 'offsets', null)
    await this.answered(id)
  }

  async #when<T>(found: () => T | undefined): Promise<T> {
    while (true) {
      const value = found()
      if (value !== undefined) return value
      if (this.socket.readyState !== WebSocket.OPEN) throw new Error(`closed, after ${this.texts.join('\n')}`)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }
}
