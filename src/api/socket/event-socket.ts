import type { WebSocket } from 'ws'
import { messageOf, ShoalError } from '../../errors.ts'
import type { Events, Reading } from '../../events/index.ts'
import { JsonError, parseJson } from '../../json-scanner.ts'
import { limits } from '../../limits.ts'
import type { Logger } from '../../log/index.ts'
import { monotonicRequest, queryRequest, subscribeRequest } from '../read-requests.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import { frameOf, framesOf } from './frames.ts'

/** What there is to ask for, in the order in which it is told to those who ask for something else. */
const services = ['offsets', 'publish', 'query', 'subscribe', 'subscribe_monotonic'] as const
type Service = (typeof services)[number]
type Request = Extract<Envelope, { type: 'request' }>

/** A request that is under way: it can be cancelled, and then says nothing more. */
interface Running {
  cancelled: boolean
  reading?: Reading
}

/** What a request is answered with when it cannot be served. */
export type SocketError =
  | { readonly type: 'unknownEndpoint'; readonly endpoint: string; readonly valid_endpoints: readonly string[] }
  | { readonly type: 'badRequest'; readonly message: string }
  | { readonly type: 'serviceError'; readonly value: string }
  | { readonly type: 'internalError' }

interface Parts {
  readonly events: Promise<Events>
  readonly log: Logger
  readonly failed?: (kind: SocketError['type']) => void
}

/** A code by which clients learn that the node goes away. */
const goingAway = 1001

/** A WebSocket of an app: many requests at once, each of which is answered under its own number. */
export class EventSocket {
  readonly #socket: WebSocket
  readonly #appId: string
  readonly #parts: Parts
  readonly #running = new Map<string, Running>()
  #closing = false
  /** Requests that wait for the answer of the store. */
  #asking = 0
  /** Messages that wait for the client to read. */
  #unread = 0

  constructor(socket: WebSocket, appId: string, parts: Parts) {
    this.#socket = socket
    this.#appId = appId
    this.#parts = parts
    socket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary))
    socket.on('close', () => this.#cancelAll())
    // It is followed by 'close'.
    socket.on('error', (error) => parts.log.debug(`WebSocket: ${error.message}`))
  }

  /** Closes it as soon as everything that is under way is answered. */
  close(): void {
    this.#closing = true
    this.#closeWhenIdle()
  }

  /** Cuts it off. */
  terminate(): void {
    this.#socket.terminate()
  }

  #closeWhenIdle(): void {
    if (this.#closing && this.#running.size === 0) this.#socket.close(goingAway)
  }

  #receive(bytes: Buffer, isBinary: boolean): void {
    // What comes after a message that closed it could not be answered.
    if (this.#socket.readyState !== this.#socket.OPEN) return
    const message = isBinary ? undefined : readEnvelope(bytes)
    if (message === undefined) {
      // Whoever does not speak the protocol cannot be told anything in it.
      this.#cancelAll()
      this.#socket.close()
    } else if (message.type === 'cancel') this.#cancel(message.requestId)
    else this.#start(message)
  }

  #start(request: Request): void {
    const { serviceId, requestId } = request
    this.#cancel(requestId)
    const service = services.find((name) => name === serviceId)
    if (service === undefined) {
      this.#error(requestId, { type: 'unknownEndpoint', endpoint: serviceId, valid_endpoints: services })
      return
    }
    const running: Running = { cancelled: false }
    this.#running.set(requestId, running)
    this.#answer(service, request, running).finally(() => {
      if (this.#running.get(requestId) === running) this.#running.delete(requestId)
      this.#closeWhenIdle()
    })
  }

  /** Answers a request to its end; what goes wrong is told before that. */
  async #answer(service: Service, request: Request, running: Running): Promise<void> {
    const { requestId } = request
    try {
      await this.#serve(service, request, running)
    } catch (error) {
      if (!running.cancelled) this.#error(requestId, this.#kindOf(error))
    }
    if (!running.cancelled) this.#send(`{"type":"complete","requestId":${requestId}}`)
  }

  async #serve(service: Service, { requestId, payload }: Request, running: Running): Promise<void> {
    const events = await this.#parts.events
    if (service === 'publish' || service === 'offsets') {
      const ask = service === 'publish' ? this.#publish : this.#offsets
      const answer = await this.#asked(() => ask.call(this, events, payload))
      if (!running.cancelled) this.#send(frameOf(requestId, answer))
      return
    }
    const reading = this.#read(events, service, payload)
    running.reading = reading
    if (running.cancelled) reading.cancel()
    await reading.started
    for await (const piece of reading) {
      await this.#sendLines(requestId, piece, running)
      reading.giveBack(piece)
    }
  }

  async #asked(ask: () => Promise<string>): Promise<string> {
    this.#asking++
    this.#heed()
    try {
      return await ask()
    } finally {
      this.#asking--
      this.#heed()
    }
  }

  async #publish(events: Events, payload: Buffer): Promise<string> {
    return String(await asBadRequest(() => events.publish(this.#appId, payload)))
  }

  async #offsets(events: Events, payload: Buffer): Promise<string> {
    if (payload.toString() !== 'null') throw new BadRequest('invalid type, expected null')
    return JSON.stringify(await events.offsets())
  }

  #read(events: Events, service: Exclude<Service, 'publish' | 'offsets'>, payload: Buffer): Reading {
    const asker = { appId: this.#appId, via: 'websocket' } as const
    const open = [...this.#running.values()].filter(({ reading }) => reading !== undefined).length
    if (open >= limits.openStreamsPerSocket)
      throw new ShoalError(
        'ERR_BAD_REQUEST',
        `There are ${limits.openStreamsPerSocket} open streams on this WebSocket, which is the limit.`,
      )
    const parsed = <T>(read: (value: unknown, by: typeof asker) => T): T =>
      shaped(() => read(parseJson(payload), asker))
    if (service === 'query') return events.query(parsed(queryRequest))
    if (service === 'subscribe') return events.subscribe(parsed(subscribeRequest))
    return events.subscribeMonotonic(parsed(monotonicRequest))
  }

  async #sendLines(requestId: string, lines: Buffer, running: Running): Promise<void> {
    for (const frame of framesOf(requestId, lines)) {
      if (running.cancelled) return
      if (this.#socket.bufferedAmount < limits.socketBacklogBytes) this.#send(frame)
      // Nothing more is made for somebody who does not read.
      else await new Promise<void>((resolve) => this.#socket.send(frame, { binary: false }, () => resolve()))
    }
  }

  #kindOf(error: unknown): SocketError {
    if (error instanceof BadRequest) return { type: 'badRequest', message: error.message }
    if (error instanceof ShoalError) return { type: 'serviceError', value: serviceText(error) }
    this.#parts.log.error(`request failed: ${messageOf(error)}`)
    return { type: 'internalError' }
  }

  #error(requestId: string, kind: SocketError): void {
    this.#parts.failed?.(kind.type)
    this.#send(`{"type":"error","requestId":${requestId},"kind":${JSON.stringify(kind)}}`)
  }

  #send(data: string | Buffer): void {
    const socket = this.#socket
    if (socket.readyState !== socket.OPEN) return
    if (socket.bufferedAmount < limits.socketBacklogBytes) {
      socket.send(data, { binary: false })
      return
    }
    this.#unread++
    this.#heed()
    socket.send(data, { binary: false }, () => {
      this.#unread--
      this.#heed()
    })
  }

  /** Who asks and does not read is not heard any more until it does, and who asks much not before something is answered. */
  #heed(): void {
    const isDeaf = this.#unread > 0 || this.#asking >= limits.socketRequestsTogether
    if (isDeaf === this.#socket.isPaused) return
    if (isDeaf) this.#socket.pause()
    else this.#socket.resume()
  }

  #cancel(requestId: string): void {
    const running = this.#running.get(requestId)
    if (running === undefined) return
    running.cancelled = true
    running.reading?.cancel()
    this.#running.delete(requestId)
  }

  #cancelAll(): void {
    for (const requestId of [...this.#running.keys()]) this.#cancel(requestId)
  }
}

/** The payload does not have the form that the service wants. */
class BadRequest extends Error {}

function shaped<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw badRequest(error)
  }
}

async function asBadRequest<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw badRequest(error)
  }
}

function badRequest(error: unknown): unknown {
  if (error instanceof JsonError) return new BadRequest(error.message)
  if (!(error instanceof ShoalError) || error.code !== 'ERR_BAD_REQUEST') return error
  return new BadRequest(error.message.replace(/^Invalid request\. /, ''))
}

/** Clients know these two without the sentence before them. */
function serviceText({ code, message }: ShoalError): string {
  if (code !== 'ERR_SERVICE_OVERLOADED' && code !== 'ERR_SHUTTING_DOWN') return message
  return message.replace(/^Service [^.]*\. /, '')
}
