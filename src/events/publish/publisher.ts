import { assert } from '../../base/assert.ts'
import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import { type Timers, yieldToEventLoop } from '../../runtime/timers.ts'
import type { Appended, AppendHints, AppendRequest, EventLog } from '../../store/index.ts'
import type { Routing } from '../routing.ts'
import { Batch } from './batch.ts'
import { PublishScanner } from './publish-scanner.ts'

/** Body size from which parts are sent to the writer thread while the rest is scanned. */
const partsThresholdBytes = 64 * 1024
/** Size of such a part: small enough for the mailbox of the writer thread, with another event added. */
const partBytes = 24 * 1024

/** Body size up to which a preallocated batch is used: allocating one would take longer than scanning. */
const smallBytes = 1024

/** Publishes events: scans, routes and stores them. The number and size of pending requests are limited. */
export class Publisher {
  readonly #store: EventLog & Partial<AppendHints>
  readonly #routing: Routing
  readonly #timers: Timers
  #requests = 0
  #bytes = 0
  /** Shared by small requests: each is scanned and handed over without yielding. */
  readonly #small = new Batch(smallBytes)

  constructor(store: EventLog & Partial<AppendHints>, routing: Routing, timers: Timers) {
    this.#store = store
    this.#routing = routing
    this.#timers = timers
  }

  /**
   * Stores the events of a request for an app: all of them or none. They are durable when the promise resolves. A
   * malformed body throws a `JsonError`.
   */
  async publish(appId: string, body: Buffer): Promise<Appended> {
    if (this.#requests >= limits.publishesWaiting) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#requests++
    try {
      const routes = this.#routing.ready ?? (await this.#routing.current())
      // Concurrent requests share a commit, which takes whole requests.
      const isLarge = body.length >= partsThresholdBytes && body.length <= tuning.scanSliceBytes
      if (isLarge && this.#requests === 1 && acceptsParts(this.#store))
        return await this.#storeParts(this.#store, new PublishScanner(body, appId, routes, { partBytes }), body.length)
      // Scanning a larger one takes longer than the writer would spin.
      if (body.length < partsThresholdBytes) this.#store.expect?.(body.length)
      const scanner = new PublishScanner(body, appId, routes, body.length <= smallBytes ? { batch: this.#small } : {})
      return await this.#storeWhole(scanner, body.length)
    } finally {
      this.#requests--
    }
  }

  /** Pipelining: sends each part to the store while the next one is scanned. */
  #storeParts(store: AppendHints, scanner: PublishScanner, size: number): Promise<Appended> {
    const parts = scanner.parts()
    const first = parts.next()
    if (first.done === true) return this.#append(first.value, size)
    return this.#withinLimit(size, () => store.appendParts(first.value, parts))
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

  #append(request: AppendRequest, size: number): Promise<Appended> {
    if (request.streams.length === 0) return Promise.resolve({ lamport: 0, time: 0, runs: [] })
    // Read before the append, after which the memory of the request is reused.
    const events = request.streams.length
    return this.#withinLimit(size, () => this.#store.append(request), events)
  }

  /** Stores a request unless the limit of pending bytes is exceeded. Checks the number of stored events, if known. */
  async #withinLimit(size: number, store: () => Promise<Appended>, events?: number): Promise<Appended> {
    if (this.#bytes + size > limits.publishBytesWaiting) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#bytes += size
    try {
      const appended = await store()
      assert(events === undefined || eventsIn(appended) === events, 'each event of a request was stored')
      return appended
    } finally {
      this.#bytes -= size
    }
  }
}

function acceptsParts(store: Partial<AppendHints>): store is AppendHints {
  return store.appendParts !== undefined
}

function eventsIn({ runs }: Appended): number {
  let events = 0
  for (const { count } of runs) events += count
  return events
}
