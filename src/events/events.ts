import { failure, ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { formatStreamId, type NodeId, nodeAppId, publicKeyOf, type StreamId } from '../identity/index.ts'
import { JsonError } from '../json/json-scanner.ts'
import type { Logger } from '../logging/index.ts'
import { Outage } from '../observability/outage.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Timers } from '../runtime/timers.ts'
import type { EventStore, Reading } from '../store/index.ts'
import { type OffsetMap, presentOffsets, toReplicate } from './offsets.ts'
import { OpenReadings } from './open-readings.ts'
import { Publisher, publishedJson } from './publish/index.ts'
import type { PublishGate } from './publish-gate.ts'
import type { QueryRequest, SubscribeRequest, ValidateRequest } from './query/index.ts'
import { type Redacted, redactEvents } from './redaction/index.ts'
import { Pruner, type StreamSettings, streamLimits } from './retention/index.ts'
import { Routing } from './routing.ts'
import type { RouteSettings } from './routing-table.ts'
import { StreamNames } from './stream-names.ts'
import { SystemEvents } from './system-events.ts'

type AnyRequest = QueryRequest | SubscribeRequest | ValidateRequest

export interface EventsOptions {
  readonly node: NodeId
  readonly routes: RouteSettings
  /** Retention limits by stream name. */
  readonly streams?: StreamSettings
  readonly log: Logger
  readonly clock: Clock
  readonly timers: Timers
  /** Starts a query or subscription, in place of the store: for metrics. */
  readonly startReading?: (job: string, request: AnyRequest) => Reading
  /** By how many microseconds the wall clock is ahead of those of the connected peers; without it there are none. */
  readonly aheadOfPeers?: () => readonly number[]
  /** Called with the reason while events are not removed for their age, since the clock is doubted; then without. */
  readonly clockDoubted?: (detail: string | undefined) => void
  /** Makes publishing wait after a doubtful start; without one it never waits. */
  readonly gate?: PublishGate | undefined
  /** By stream, the highest offset that another node is known to have; none while there are no other nodes. */
  readonly peerOffsets?: () => OffsetMap
  /** Called with the number of events after each publish. */
  readonly published?: (events: number, ms: number) => void
}

/** The offsets of all streams, on this node and on others. */
export interface Offsets {
  readonly present: OffsetMap
  /** By stream: the number of events that other nodes have and this one lacks. */
  readonly toReplicate: OffsetMap
}

/** The events of the node's topic: what the HTTP and WebSocket APIs share. */
export class Events {
  readonly system: SystemEvents
  readonly #store: EventStore
  readonly #options: EventsOptions
  readonly #routing: Routing
  readonly #publisher: Publisher
  readonly #pruner: Pruner
  /** Open queries of clients, and those of the node itself, which do not count towards the limit of clients. */
  readonly #open = new OpenReadings()
  readonly #own = new OpenReadings()
  /** Tracks publish failures that a wrong wall clock causes. */
  readonly #clock: Outage
  #offsetsWaiting = 0
  #publishes = 0
  #stopping = false
  #closing = false

  private constructor(store: EventStore, names: StreamNames, options: EventsOptions) {
    this.#store = store
    this.#options = options
    this.#clock = new Outage('publishing', options.log, options.clock)
    this.#routing = new Routing(names, options.routes, options.log)
    this.#publisher = new Publisher(store, this.#routing, options.timers, options.gate)
    this.system = new SystemEvents(this.#publisher)
    this.#pruner = new Pruner(store, names, options)
    this.streams = options.streams ?? {}
  }

  /** Takes ownership of the store, and closes it in `close`. */
  static async open(store: EventStore, options: EventsOptions): Promise<Events> {
    const { gate } = options
    const events = new Events(store, await StreamNames.read(store, gate), options)
    await events.#pruner.recallClock()
    // Otherwise the first publish does it: until then the node can be queried.
    if (gate?.isOpen !== false) await events.#routing.start()
    return events
  }

  set routes(routes: RouteSettings) {
    this.#routing.change(routes)
  }

  set streams(streams: StreamSettings) {
    this.#pruner.settings = streams
    this.#routing.limited = new Set(streamLimits(streams).keys())
    for (const name of Object.keys(streams))
      if (!this.#routing.hasStream(name))
        this.#options.log.warn(`/eventRouting/streams/${name} has no effect: no route leads into '${name}'`)
  }

  /** Applies the retention limits of all streams. Throws when pruning failed in one of them. */
  async prune(): Promise<void> {
    if (this.#options.gate?.isOpen === false) return
    await this.#unlessClosing(() => this.#pruner.run())
  }

  /** The number of publish calls of apps so far. */
  get publishes(): number {
    return this.#publishes
  }

  /** Stores the events of a publish request. Returns the JSON of the response. */
  async publish(appId: string, body: Buffer): Promise<string | Buffer<ArrayBuffer>> {
    if (appId !== nodeAppId) this.#publishes++
    const { clock } = this.#options
    const started = clock.steadyMs()
    try {
      const appended = await this.#unlessClosing(() => this.#publisher.publish(appId, body))
      this.#clock.succeeded()
      const events = appended.runs.reduce((sum, { count }) => sum + count, 0)
      this.#options.published?.(events, clock.steadyMs() - started)
      return publishedJson(this.#options.node, appended)
    } catch (error) {
      if (error instanceof ShoalError && error.code === 'ERR_CLOCK') this.#clock.failed(error.message)
      throw error
    }
  }

  async offsets(): Promise<Offsets> {
    if (this.#offsetsWaiting >= limits.pendingOffsetRequests) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#offsetsWaiting++
    try {
      const present = await this.#unlessClosing(() => presentOffsets(this.#store))
      return { present, toReplicate: toReplicate(present, this.#options.peerOffsets?.() ?? {}) }
    } finally {
      this.#offsetsWaiting--
    }
  }

  /** Removes all events of a stream of another node. Returns whether it was known. A stream of this node is refused. */
  async forgetStream({ node, number }: StreamId): Promise<boolean> {
    // No stream has a higher number; in the store it is a JavaScript number.
    if (number > BigInt(Number.MAX_SAFE_INTEGER)) return false
    const key = { node: publicKeyOf(node), number: Number(number) }
    return await this.#unlessClosing(() => this.#store.forgetStream(key))
  }

  /** Removes the payloads of events of this node, on all nodes. A stream of another node is refused. */
  async redact(stream: StreamId, offsets: readonly number[]): Promise<Redacted> {
    const done = await this.#unlessClosing(() => redactEvents(this.#store, this.#options.node, stream, offsets))
    if (done.redacted.length > 0)
      this.#options.log.info(`redacted ${done.redacted.length} events of the stream ${formatStreamId(stream)}`)
    return done
  }

  /** Runs a query over one snapshot. An invalid query rejects `started`. */
  query(request: QueryRequest): Reading {
    return this.#read('query', request)
  }

  /** Subscribes: stored events, then new ones. */
  subscribe(request: SubscribeRequest): Reading {
    return this.#read('subscribe', request)
  }

  /** Subscribes in the total order; ends with `timeTravel` when an event arrives late. */
  subscribeMonotonic(request: SubscribeRequest): Reading {
    return this.#read('subscribe_monotonic', request)
  }

  /** Validates a query without running it. Returns the result as JSON text. */
  async validate(request: ValidateRequest): Promise<string> {
    const reading = this.#read('validate', request)
    await reading.started
    const pieces: Buffer[] = []
    for await (const piece of reading) pieces.push(Buffer.from(piece))
    return Buffer.concat(pieces).toString('utf8').trimEnd()
  }

  /** Fails all open queries and subscriptions; publishing continues. */
  stopReading(): void {
    this.#stopping = true
    for (const readings of [this.#open, this.#own]) readings.fail(failure('ERR_SHUTTING_DOWN', {}))
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#options.gate?.close()
    this.#pruner.stop()
    await this.#store.close()
  }

  #read(job: string, request: AnyRequest): Reading {
    if (this.#stopping) throw failure('ERR_SHUTTING_DOWN', {})
    const readings = request.via === 'node' ? this.#own : this.#open
    return readings.start(() => this.#start(job, request))
  }

  #start(job: string, request: AnyRequest): Reading {
    return this.#options.startReading?.(job, request) ?? this.#store.start(job, request)
  }

  /** Reports failures during shutdown as `ERR_SHUTTING_DOWN`. */
  async #unlessClosing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!this.#closing || error instanceof ShoalError || error instanceof JsonError) throw error
      throw failure('ERR_SHUTTING_DOWN', {}, { cause: error })
    }
  }
}
