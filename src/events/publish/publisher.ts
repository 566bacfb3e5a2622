import { assert } from '../../base/assert.ts'
import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import { release } from '../../runtime/buffers.ts'
import { type Timers, yieldToEventLoop } from '../../runtime/timers.ts'
import type { Appended, AppendRequest, EventLog } from '../../store/index.ts'
import type { PublishGate } from '../publish-gate.ts'
import type { Routing } from '../routing.ts'
import { isForked } from '../stream-names.ts'
import { Batch } from './batch.ts'
import { PublishScanner } from './publish-scanner.ts'

/** Body size up to which a preallocated batch is used: allocating one would take longer than scanning. */
const smallBytes = 1024

/** Publishes events: scans, routes and stores them. The number and size of pending requests are limited. */
export class Publisher {
  readonly #store: EventLog
  readonly #routing: Routing
  readonly #timers: Timers
  readonly #gate: PublishGate | undefined
  #requests = 0
  #bytes = 0
  /** Shared by small requests: each is scanned and handed over without yielding. */
  readonly #small = new Batch(smallBytes)

  constructor(store: EventLog, routing: Routing, timers: Timers, gate?: PublishGate) {
    this.#store = store
    this.#routing = routing
    this.#timers = timers
    this.#gate = gate
  }

  /**
   * Stores the events of a request for an app: all of them or none. They are durable when the promise resolves. A
   * malformed body throws a `JsonError`.
   */
  async publish(appId: string, body: Buffer): Promise<Appended> {
    if (this.#requests >= limits.queuedPublishes) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#requests++
    try {
      if (this.#gate?.isOpen === false) await this.#gate.wait()
      return await this.#publish(appId, body)
    } catch (error) {
      if (!isForked(error)) throw error
      // Nothing was stored. With other streams it succeeds.
      await this.#routing.leaveFrozen()
      return await this.#publish(appId, body)
    } finally {
      this.#requests--
    }
  }

  async #publish(appId: string, body: Buffer): Promise<Appended> {
    const routes = this.#routing.ready ?? (await this.#routing.current())
    const scanner = new PublishScanner(body, appId, routes, body.length <= smallBytes ? { batch: this.#small } : {})
    return await this.#storeWhole(scanner, body.length)
  }

  /** Scans the whole request before it is stored. A large one is scanned in slices. */
  #storeWhole(scanner: PublishScanner, size: number): Promise<Appended> {
    const slices = scanner.whole(tuning.scanSliceBytes)
    const first = slices.next()
    return first.done === true ? this.#append(first.value, size) : this.#storeSlices(slices, size)
  }

  async #storeSlices(slices: Generator<void, AppendRequest>, size: number): Promise<Appended> {
    for (;;) {
      await yieldToEventLoop(this.#timers)
      const { done, value } = slices.next()
      if (done === true) return await this.#append(value, size)
    }
  }

  /** Stores a request unless the limit of pending bytes is exceeded. */
  async #append(request: AppendRequest, size: number): Promise<Appended> {
    const events = request.streams.length
    if (events === 0) return { lamport: 0, time: 0, runs: [] }
    const isAdmitted = this.#bytes + size <= limits.queuedPublishBytes
    // The store copies the request before it returns.
    const appending = isAdmitted ? this.#store.append(request) : undefined
    // The preallocated batch is reused.
    if (size > smallBytes) release(request.source)
    if (appending === undefined) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#bytes += size
    try {
      const appended = await appending
      assert(eventsIn(appended) === events, 'each event of a request was stored')
      return appended
    } finally {
      this.#bytes -= size
    }
  }
}

function eventsIn({ runs }: Appended): number {
  let events = 0
  for (const { count } of runs) events += count
  return events
}
