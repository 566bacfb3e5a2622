import type { WebSocket } from 'ws'
import { damageOf, failure, invalidRequest, messageOf, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { bodyCost, parseCost } from '../../client-memory/account.ts'
import type { Events, Reading } from '../../events/index.ts'
import { JsonError, parseJson } from '../../json/json-scanner.ts'
import type { Logger } from '../../logging/index.ts'
import { release } from '../../runtime/buffers.ts'
import type { Timers } from '../../runtime/timers.ts'
import type { Connection } from '../clients/index.ts'
import type { ParseQueue } from '../parse-queue.ts'
import { monotonicRequest, queryRequest, subscribeRequest } from '../read-requests.ts'
import { type Refusal, refusalOf } from '../refusal.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import { frameOf, framesOf } from './frames.ts'
import { UnfinishedMessage } from './unfinished-message.ts'

/** The services, in the order in which an `unknownEndpoint` error lists them. */
const services = ['offsets', 'publish', 'query', 'subscribe', 'subscribe_monotonic'] as const
type Service = (typeof services)[number]
type Request = Extract<Envelope, { type: 'request' }>

/** A request in progress. After a cancel it sends nothing more. */
interface Running {
  cancelled: boolean
  reading?: Reading
  /** Bytes charged for its message. */
  charged: number
}

/** A received message; `charged` is undefined when it exceeds the memory limit. */
interface Message {
  readonly bytes: Buffer
  readonly isBinary: boolean
  readonly charged: number | undefined
}

/** The error of a failed request. */
export type SocketError =
  | { readonly type: 'unknownEndpoint'; readonly endpoint: string; readonly valid_endpoints: readonly string[] }
  | { readonly type: 'badRequest'; readonly message: string }
  | { readonly type: 'serviceError'; readonly value: string }
  | { readonly type: 'internalError' }

interface Parts {
  /** The events of the current topic. */
  readonly events: () => Promise<Events>
  readonly log: Logger
  readonly timers: Timers
  readonly parseQueue: ParseQueue
  readonly failed?: (kind: SocketError['type']) => void
  /** Called for each request that fails, with its service if there is one of this name. */
  readonly refused: (refusal: Refusal, service: Service | undefined) => void
}

/** Close codes: the node shuts down, changes to another topic, or has no memory left for this client. */
export const [goingAway, serviceRestart, tryAgainLater] = [1001, 1012, 1013]
/** The maximum length of the reason in a close frame. */
const closeReasonBytes = 123
/** Milliseconds between the close frame and the termination of the connection. */
const closeMs = 250

/** A WebSocket of an app. It multiplexes concurrent requests by their request ID. */
export class EventSocket {
  readonly #socket: WebSocket
  readonly #appId: string
  readonly #parts: Parts
  readonly #running = new Map<string, Running>()
  readonly #connection: Connection
  /** The code of the close frame that is sent after the last request. */
  #closeCode: number | undefined
  /** Publish and offsets requests that are pending in the store. */
  #pending = 0
  /** Messages that were sent above the high water mark and are still in the output buffer. */
  #unread = 0
  readonly #unfinished = new UnfinishedMessage()
  /** Bytes charged for the unfinished message. */
  #unfinishedCharge = 0
  /** Messages that were already received when reading was paused. */
  readonly #waiting: Message[] = []
  #isPonging = false
  /** The latest ping during a pending pong: only that one gets a pong (RFC 6455, section 5.5.3). */
  #lastPing: Buffer | undefined

  constructor(socket: WebSocket, appId: string, parts: Parts, connection: Connection) {
    this.#socket = socket
    this.#appId = appId
    this.#parts = parts
    this.#connection = connection
    connection.protocol = {
      outputBytes: () => socket.bufferedAmount,
      isReceiving: () => this.#unfinishedCharge > 0,
      evict: (reason) => this.#evict(reason),
    }
    socket.on('message', (data, isBinary) => this.#onMessage(data as Buffer, isBinary))
    socket.on('ping', (data) => this.#pong(data))
    socket.on('close', () => this.#cancelAll())
    // 'close' follows.
    socket.on('error', (error) => parts.log.debug(`WebSocket: ${error.message}`))
  }

  /** Graceful close: after all requests in progress have completed. Further ones are refused. */
  close(code: number): void {
    this.#closeCode = code
    this.#closeWhenIdle()
  }

  /** Terminates the connection without a closing handshake. */
  terminate(): void {
    this.#socket.terminate()
  }

  #closeWhenIdle(): void {
    if (this.#closeCode !== undefined && this.#running.size === 0) this.#socket.close(this.#closeCode)
  }

  /** Call this with each chunk from the network, before it is parsed. */
  receiving(chunk: Uint8Array): void {
    this.#unfinished.add(chunk)
    const cost = bodyCost(this.#unfinished.cost)
    if (cost === this.#unfinishedCharge) return
    if (cost < this.#unfinishedCharge) this.#connection.refund(this.#unfinishedCharge - cost)
    else if (!this.#connection.charge(cost - this.#unfinishedCharge)) {
      this.#connection.evict()
      return
    }
    this.#unfinishedCharge = cost
  }

  /** Closes the connection with a reason. A slow client, with output pending, is terminated. */
  #evict(reason: ShoalError): void {
    this.#cancelAll()
    // Stop parsing and buffering input.
    this.#socket.pause()
    if (this.#socket.bufferedAmount > 0) {
      this.#socket.terminate()
      return
    }
    this.#socket.close(tryAgainLater, reason.message.slice(0, closeReasonBytes))
    this.#parts.timers.setTimeout(() => this.#socket.terminate(), closeMs).unref()
  }

  /** Sends a pong, one at a time: `ws` would queue a pong per ping for a client that does not read. */
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

  #onMessage(bytes: Buffer, isBinary: boolean): void {
    // Drop messages that arrive after the close.
    if (this.#socket.readyState !== this.#socket.OPEN) return
    const charged = bodyCost(bytes.length) + limits.socketRequestBytes
    const message = { bytes, isBinary, charged: this.#connection.charge(charged) ? charged : undefined }
    if (this.#isSaturated || this.#waiting.length > 0) this.#waiting.push(message)
    else this.#receive(message)
  }

  #receive({ bytes, isBinary, charged }: Message): void {
    const message = isBinary ? undefined : readEnvelope(bytes)
    if (message === undefined) {
      // A client that does not speak the protocol cannot understand an error message in it.
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
    const service = services.find((name) => name === serviceId)
    if (charged === undefined) {
      this.#refuse(requestId, service, this.#connection.refusal)
      return
    }
    if (this.#closeCode !== undefined) {
      this.#connection.refund(charged)
      this.#refuse(requestId, service, failure('ERR_SHUTTING_DOWN', {}))
      return
    }
    if (service === undefined) {
      this.#connection.refund(charged)
      const cause = `an unknown service: there are ${services.join(', ')}`
      this.#parts.refused({ ...refusalOf(failure('ERR_NOT_FOUND', {})), cause }, undefined)
      this.#error(requestId, { type: 'unknownEndpoint', endpoint: serviceId, valid_endpoints: services })
      return
    }
    const running: Running = { cancelled: false, charged }
    this.#running.set(requestId, running)
    const isPending = service === 'publish' || service === 'offsets'
    if (isPending) this.#pending++
    this.#applyBackpressure()
    this.#run(service, request, running).finally(() => {
      if (this.#running.get(requestId) === running) this.#running.delete(requestId)
      this.#refund(running)
      if (isPending) this.#pending--
      this.#applyBackpressure()
      this.#closeWhenIdle()
    })
  }

  /** Refunds the message of a request: it was processed. */
  #refund(running: Running): void {
    this.#connection.refund(running.charged)
    running.charged = 0
  }

  /** Runs a request: its results, an error if it fails, then `complete`. */
  async #run(service: Service, request: Request, running: Running): Promise<void> {
    const { requestId } = request
    try {
      await this.#serve(service, request, running)
    } catch (error) {
      if (!running.cancelled) this.#fail(requestId, service, error)
    }
    if (!running.cancelled) this.#complete(requestId)
  }

  #refuse(requestId: string, service: Service | undefined, error: ShoalError): void {
    this.#fail(requestId, service, error)
    this.#complete(requestId)
  }

  #fail(requestId: string, service: Service | undefined, error: unknown): void {
    this.#parts.refused(refusalOf(error instanceof BadRequest ? error.refused : error), service)
    this.#error(requestId, this.#kindOf(error))
  }

  #complete(requestId: string): void {
    this.#send(`{"type":"complete","requestId":${requestId}}`)
  }

  async #serve(service: Service, { requestId, payload }: Request, running: Running): Promise<void> {
    const events = await this.#parts.events()
    if (service === 'publish' || service === 'offsets') {
      const handle = service === 'publish' ? this.#publish : this.#offsets
      const result = await handle.call(this, events, payload)
      if (!running.cancelled) this.#send(frameOf(requestId, result))
      return
    }
    await this.#parts.parseQueue.wait(payload.length)
    const reading = this.#read(events, service, payload)
    running.reading = reading
    reading.chargeTo?.(this.#connection)
    this.#refund(running)
    if (running.cancelled) reading.cancel()
    await reading.started
    for await (const chunk of reading) {
      // The frames are a copy, so the chunk is charged once more.
      if (!this.#connection.charge(chunk.length)) throw this.#connection.refusal
      await this.#sendLines(requestId, chunk, running)
      this.#connection.refund(chunk.length)
      release(chunk)
    }
  }

  async #publish(events: Events, payload: Buffer): Promise<string> {
    return String(await asBadRequest(() => events.publish(this.#appId, payload)))
  }

  async #offsets(events: Events, payload: Buffer): Promise<string> {
    if (payload.toString() !== 'null') throw new BadRequest(invalidRequest('invalid type, expected null'))
    return JSON.stringify(await events.offsets())
  }

  #read(events: Events, service: Exclude<Service, 'publish' | 'offsets'>, payload: Buffer): Reading {
    const caller = { appId: this.#appId, via: 'websocket' } as const
    const open = [...this.#running.values()].filter(({ reading }) => reading !== undefined).length
    if (open >= limits.openQueriesPerSocket)
      throw new ShoalError(
        'ERR_BAD_REQUEST',
        `There are ${limits.openQueriesPerSocket} open streams on this WebSocket, which is the limit.`,
        { isLoggable: true },
      )
    if (!this.#connection.hasRoom(parseCost(payload.length))) throw this.#connection.refusal
    const parsed = <T>(read: (value: unknown, by: typeof caller) => T): T =>
      asBadRequestSync(() => read(parseJson(payload), caller))
    if (service === 'query') return events.query(parsed(queryRequest))
    if (service === 'subscribe') return events.subscribe(parsed(subscribeRequest))
    return events.subscribeMonotonic(parsed(monotonicRequest))
  }

  async #sendLines(requestId: string, lines: Buffer, running: Running): Promise<void> {
    for (const frame of framesOf(requestId, lines)) {
      if (running.cancelled) return
      if (this.#socket.bufferedAmount < limits.socketBacklogBytes) this.#send(frame)
      // Backpressure: wait until a slow client has read this frame before the next one is made.
      else {
        const sent = new Promise<void>((resolve) => this.#socket.send(frame, { binary: false }, () => resolve()))
        this.#connection.afterWrite()
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
      this.#connection.afterWrite()
      return
    }
    this.#unread++
    this.#applyBackpressure()
    socket.send(data, { binary: false }, () => {
      this.#unread--
      this.#applyBackpressure()
    })
    this.#connection.afterWrite()
  }

  /** Whether reading is paused: the client does not read, or the maximum of pending requests is reached. */
  get #isSaturated(): boolean {
    return this.#unread > 0 || this.#pending >= limits.concurrentSocketRequests
  }

  /** Backpressure: pauses or resumes reading, and processes the messages that were received before the pause. */
  #applyBackpressure(): void {
    while (!this.#isSaturated && this.#socket.readyState === this.#socket.OPEN) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      this.#receive(next)
    }
    const isPaused = this.#isSaturated || this.#waiting.length > 0
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

/** The payload does not match the schema of the service. */
class BadRequest extends Error {
  readonly refused: ShoalError

  constructor(refused: ShoalError) {
    // The kind of the error says the first sentence.
    super(refused.message.replace(/^Invalid request\. /, ''))
    this.refused = refused
  }
}

function asBadRequestSync<T>(work: () => T): T {
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
  if (error instanceof JsonError) return new BadRequest(invalidRequest(error.message))
  if (!(error instanceof ShoalError) || error.code !== 'ERR_BAD_REQUEST') return error
  return new BadRequest(error)
}

/** The protocol sends the messages of these two errors without their first sentence. */
function serviceText({ code, message }: ShoalError): string {
  if (code !== 'ERR_SERVICE_OVERLOADED' && code !== 'ERR_SHUTTING_DOWN') return message
  return message.replace(/^Service [^.]*\. /, '')
}
