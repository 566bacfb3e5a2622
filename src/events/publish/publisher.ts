import { setImmediate } from 'node:timers/promises'
import { failure } from '../../errors.ts'
import { limits } from '../../limits.ts'
import type { Appended, AppendRequest, EventStore } from '../../store/index.ts'
import type { Routing } from '../routing.ts'
import { PublishScanner } from './publish-scanner.ts'

/** Publishes events: reads them, routes them, has them stored. What waits for the disk has a limit. */
export class Publisher {
  readonly #store: EventStore
  readonly #routing: Routing
  #requests = 0
  #bytes = 0

  constructor(store: EventStore, routing: Routing) {
    this.#store = store
    this.#routing = routing
  }

  /**
   * Stores the events of a request for an app: all of them or none. What it answers is on the disk. A body that cannot be
   * read throws a `JsonError`.
   */
  async publish(appId: string, body: Buffer): Promise<Appended> {
    if (this.#requests >= limits.publishesWaiting) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#requests++
    try {
      const scanner = new PublishScanner(body, appId, await this.#routing.current())
      for (const _ of scanner.read()) await setImmediate()
      if (scanner.batch.count === 0) return { lamport: 0, time: 0, runs: [] }
      return await this.#append(scanner.batch.request())
    } finally {
      this.#requests--
    }
  }

  async #append(request: AppendRequest): Promise<Appended> {
    const size = request.source.length
    if (this.#bytes + size > limits.publishBytesWaiting) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#bytes += size
    try {
      return await this.#store.append(request)
    } finally {
      this.#bytes -= size
    }
  }
}
