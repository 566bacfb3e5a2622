import type { WebSocket } from 'ws'
import { damageOf, messageOf, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { bodyCost, parseCost } from '../../client-memory/account.ts'
import type { Events, Reading } from '../../events/index.ts'
import { JsonError, parseJson } from '../../json/json-scanner.ts'
import type { Logger } from '../../logging/index.ts'
import type { Connection } from '../clients/index.ts'
import { monotonicRequest, queryRequest, subscribeRequest } from '../read-requests.ts'
import { parseTurn } from '../turns.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import { frameOf, framesOf } from './frames.ts'
import { UnfinishedMessage } from './unfinished-message.ts'

/** What there is to ask for, in the order in which it is told to those who ask for something else. */
const services = ['offsets', 'publish', 'query', 'subscribe', 'subscribe_monotonic'] as const
type Service = (typeof services)[number]
type Request = Extract<Envelope, { type: 'request' }>

/** A request that is under way: it can be cancelled, and then says nothing more. */
interface Running {
  cancelled: boolean
  reading?: Reading
  /** Bytes that are charged for its message. */
  charged: number
}

/** A message as it came; nothing is charged for it when there was no room. */
interface Message {
  readonly bytes: Buffer
  readonly isBinary: boolean
  readonly charged: number | undefined
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

/** Codes by which clients learn that the node goes away, or that it has no room for them. */
const [goingAway, tryAgainLater] = [1001, 1013]
/** Bytes of the reason that a close frame can carry. */
const closeReasonBytes = 123
/** Milliseconds that the close frame gets to reach the client before the connection is cut off. */
const closeMs = 250

/** A WebSocket of an app: many requests at once, each of which is answered under its own number. */
export class EventSocket {
  readonly #socket: WebSocket
  readonly #appId: string
  readonly #parts: Parts
  readonly #running = new Map<string, Running>()
  readonly #connection: Connection
  #closing = false
  /** Requests that wait for the answer of the store. */
  #asking = 0
  /** Messages that wait for the client to read. */
  #unread = 0
  readonly #unfinished = new UnfinishedMessage()
  /** Bytes that are charged for the unfinished message. */
  #unfinishedCharge = 0
  /** Messages that came together with the one after which no more should be read. */
  readonly #waiting: Message[] = []
  #isPonging = false
  /** The last ping that came while a pong was on its way: only that one is answered (RFC 6455, section 5.5.3). */
  #lastPing: Buffer | undefined

  constructor(socket: WebSocket, appId: string, parts: Parts, connection: Connection) {
    this.#socket = socket
    this.#appId = appId
    this.#parts = parts
    this.#connection = connection
    connection.use = {
      outputBytes: () => socket.bufferedAmount,
      isReceiving: () => this.#unfinishedCharge > 0,
      evict: (reason) => this.#evict(reason),
    }
    socket.on('message', (data, isBinary) => this.#arrived(data as Buffer, isBinary))
    socket.on('ping', (data) => this.#pong(data))
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

  /** To be called with each part that comes from the network, before it is parsed. */
  receiving(part: Uint8Array): void {
    this.#unfinished.add(part)
    const cost = bodyCost(this.#unfinished.cost)
    if (cost === this.#unfinishedCharge) return
    if (cost < this.#unfinishedCharge) this.#connection.refund(this.#unfinishedCharge - cost)
    else if (!this.#connection.charge(cost - this.#unfinishedCharge)) {
      this.#connection.evict()
      return
    }
    this.#unfinishedCharge = cost
  }

  /** Closes the connection with a reason; a client that does not read is cut off. */
  #evict(reason: ShoalError): void {
    this.#cancelAll()
    // Nothing more of what the client sends is parsed and kept.
    this.#socket.pause()
    if (this.#socket.bufferedAmount > 0) {
      this.#socket.terminate()
      return
    }
    this.#socket.close(tryAgainLater, reason.message.slice(0, closeReasonBytes))
    setTimeout(() => this.#socket.terminate(), closeMs).unref()
  }

  /** Answers a ping, with at most one pong on its way: the library would queue them all for a client that does not read. */
  #pong(data: Buffer): void {
    if (this.#isPonging) {
      this.#lastPing = Buffer.from(data)
      return
    }
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#isPonging = true
    this.#socket.pong(data, false, () => {
      this.#isPonging = false
      const next = this.#lastPing
      this.#lastPing = undefined
      if (next !== undefined) this.#pong(next)
    })
  }

  #arrived(bytes: Buffer, isBinary: boolean): void {
    // What comes after a message that closed it could not be answered.
    if (this.#socket.readyState !== this.#socket.OPEN) return
    const charged = bodyCost(bytes.length) + limits.socketRequestBytes
    const message = { bytes, isBinary, charged: this.#connection.charge(charged) ? charged : undefined }
    if (this.#isDeaf || this.#waiting.length > 0) this.#waiting.push(message)
    else this.#receive(message)
  }

  #receive({ bytes, isBinary, charged }: Message): void {
    const message = isBinary ? undefined : readEnvelope(bytes)
    if (message === undefined) {
      // Whoever does not speak the protocol cannot be told anything in it.
      this.#cancelAll()
      this.#socket.close()
    } else if (message.type === 'cancel') {
      this.#cancel(message.requestId)
      this.#connection.refund(charged ?? 0)
    } else this.#start(message, charged)
  }

  #start(request: Request, charged: number | undefined): void {
    const { serviceId, requestId } = request
    this.#cancel(requestId)
    if (charged === undefined) {
      this.#error(requestId, this.#kindOf(this.#connection.refusal))
      this.#complete(requestId)
      return
    }
    const service = services.find((name) => name === serviceId)
    if (service === undefined) {
      this.#connection.refund(charged)
      this.#error(requestId, { type: 'unknownEndpoint', endpoint: serviceId, valid_endpoints: services })
      return
    }
    const running: Running = { cancelled: false, charged }
    this.#running.set(requestId, running)
    const isAsking = service === 'publish' || service === 'offsets'
    if (isAsking) this.#asking++
    this.#heed()
    this.#answer(service, request, running).finally(() => {
      if (this.#running.get(requestId) === running) this.#running.delete(requestId)
      this.#letGo(running)
      if (isAsking) this.#asking--
      this.#heed()
      this.#closeWhenIdle()
    })
  }

  /** Nothing needs the message of a request any more. */
  #letGo(running: Running): void {
    this.#connection.refund(running.charged)
    running.charged = 0
  }

  /** Answers a request to its end; what goes wrong is told before that. */
  async #answer(service: Service, request: Request, running: Running): Promise<void> {
    const { requestId } = request
    try {
      await this.#serve(service, request, running)
    } catch (error) {
      if (!running.cancelled) this.#error(requestId, this.#kindOf(error))
    }
    if (!running.cancelled) this.#complete(requestId)
  }

  #complete(requestId: string): void {
    this.#send(`{"type":"complete","requestId":${requestId}}`)
  }

  async #serve(service: Service, { requestId, payload }: Request, running: Running): Promise<void> {
    const events = await this.#parts.events
    if (service === 'publish' || service === 'offsets') {
      const ask = service === 'publish' ? this.#publish : this.#offsets
      const answer = await ask.call(this, events, payload)
      if (!running.cancelled) this.#send(frameOf(requestId, answer))
      return
    }
    await parseTurn(payload.length)
    const reading = this.#read(events, service, payload)
    running.reading = reading
    reading.chargeTo?.(this.#connection)
    this.#letGo(running)
    if (running.cancelled) reading.cancel()
    await reading.started
    for await (const piece of reading) {
      // What is sent is a copy of it.
      if (!this.#connection.charge(piece.length)) throw this.#connection.refusal
      await this.#sendLines(requestId, piece, running)
      this.#connection.refund(piece.length)
      reading.giveBack?.(piece)
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
    if (!this.#connection.hasRoom(parseCost(payload.length))) throw this.#connection.refusal
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
      else {
        const sent = new Promise<void>((resolve) => this.#socket.send(frame, { binary: false }, () => resolve()))
        this.#connection.wrote()
        await sent
      }
    }
  }

  #kindOf(error: unknown): SocketError {
    if (error instanceof BadRequest) return { type: 'badRequest', message: error.message }
    if (error instanceof ShoalError) return { type: 'serviceError', value: serviceText(error) }
    this.#parts.log.error(`request failed: ${messageOf(error)}`)
    const damage = damageOf(error)
    return damage === undefined ? { type: 'internalError' } : { type: 'serviceError', value: damage.message }
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
      this.#connection.wrote()
      return
    }
    this.#unread++
    this.#heed()
    socket.send(data, { binary: false }, () => {
      this.#unread--
      this.#heed()
    })
    this.#connection.wrote()
  }

  /** Whether requests are left unread: the client does not read, or as many as may be are under way. */
  get #isDeaf(): boolean {
    return this.#unread > 0 || this.#asking >= limits.socketRequestsTogether
  }

  /** Backpressure: pauses reading while requests should wait, and goes on with those that had come already. */
  #heed(): void {
    while (!this.#isDeaf && this.#socket.readyState === this.#socket.OPEN) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      this.#receive(next)
    }
    const isPaused = this.#isDeaf || this.#waiting.length > 0
    if (isPaused === this.#socket.isPaused) return
    if (isPaused) this.#socket.pause()
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
    this.#waiting.length = 0
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
