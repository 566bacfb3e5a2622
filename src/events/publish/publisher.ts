import { assert } from '../../base/assert.ts'
import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import { type Timers, yieldToEventLoop } from '../../runtime/timers.ts'
import type { Appended, AppendHints, AppendRequest, EventLog } from '../../store/index.ts'
import type { Routing } from '../routing.ts'
import { Batch } from './batch.ts'
import { PublishScanner } from './publish-scanner.ts'

/** Bytes of a body from which on it is handed over in parts: to begin early is of use where there is much to do. */
const inPartsFrom = 64 * 1024
/** Bytes of such a part: with another event they go the short way to the writer. */
const partBytes = 24 * 1024

/** Bytes of a body up to which its events are read into memory that is there: to make that takes longer than to read them. */
const smallBytes = 1024

/** Publishes events: reads them, routes them, has them stored. What waits for the disk has a limit. */
export class Publisher {
  readonly #store: EventLog & Partial<AppendHints>
  readonly #routing: Routing
  readonly #timers: Timers
  #requests = 0
  #bytes = 0
  /** For what is small: it is read and handed over in one go. */
  readonly #small = new Batch(smallBytes)

  constructor(store: EventLog & Partial<AppendHints>, routing: Routing, timers: Timers) {
    this.#store = store
    this.#routing = routing
    this.#timers = timers
  }

  /**
   * Stores the events of a request for an app: all of them or none. What it answers is on the disk. A body that cannot be
   * read throws a `JsonError`.
   */
  async publish(appId: string, body: Buffer): Promise<Appended> {
    if (this.#requests >= limits.queuedPublishes) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#requests++
    try {
      const routes = this.#routing.settled ?? (await this.#routing.current())
      // Whoever publishes beside others shares a commit with them, which takes whole requests.
      const isLarge = body.length >= inPartsFrom && body.length <= tuning.scanSliceBytes
      if (isLarge && this.#requests === 1 && takesParts(this.#store))
        return await this.#storeParts(this.#store, new PublishScanner(body, appId, routes, { partBytes }), body.length)
      // Larger ones take longer to read than anybody would wait.
      if (body.length < inPartsFrom) this.#store.expect?.(body.length)
      const scanner = new PublishScanner(body, appId, routes, body.length <= smallBytes ? { batch: this.#small } : {})
      return await this.#storeWhole(scanner, body.length)
    } finally {
      this.#requests--
    }
  }

  /** Hands over what was read while the rest is read. */
  #storeParts(store: AppendHints, scanner: PublishScanner, size: number): Promise<Appended> {
    const parts = scanner.parts()
    const first = parts.next()
    if (first.done === true) return this.#append(first.value, size)
    return this.#within(size, () => store.appendParts(first.value, parts))
  }

  /** Reads all of a request before anything is handed over; while a large one is read, others have their turns. */
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
    // The memory of the request is used again once it is handed over.
    const events = request.streams.length
    return this.#within(size, () => this.#store.append(request), events)
  }

  /** Has something of so many bytes stored, and so many events where that is known, if not too much waits for that already. */
  async #within(size: number, store: () => Promise<Appended>, events?: number): Promise<Appended> {
    if (this.#bytes + size > limits.queuedPublishBytes) throw failure('ERR_SERVICE_OVERLOADED', {})
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

function takesParts(store: Partial<AppendHints>): store is AppendHints {
  return store.appendParts !== undefined
}

function eventsIn({ runs }: Appended): number {
  let events = 0
  for (const { count } of runs) events += count
  return events
}
