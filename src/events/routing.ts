import { type ErrorCode, messageOf, ShoalError } from '../base/errors.ts'
import type { Logger } from '../logging/index.ts'
import {
  defaultStream,
  factsStream,
  needsFactsStream,
  type RouteSettings,
  RoutingTable,
  streamNames,
} from './routing-table.ts'
import type { StreamNames } from './stream-names.ts'

/** Temporary failures to store events. */
const refusals: ReadonlySet<ErrorCode> = new Set(['ERR_STORAGE', 'ERR_CLOCK'])

/** The active routes, and the stream names that they need. */
export class Routing {
  readonly #names: StreamNames
  readonly #log: Logger
  #routes: RouteSettings
  /** The names of the streams with retention limits. */
  #limited: ReadonlySet<string> = new Set()
  #table: RoutingTable | undefined
  #updating: Promise<void> | undefined

  constructor(names: StreamNames, routes: RouteSettings, log: Logger) {
    this.#names = names
    this.#routes = routes
    this.#log = log
  }

  /** Whether there is a stream of this name, or a route leads into it. */
  hasStream(name: string): boolean {
    return this.#names.numbers.has(name) || streamNames(this.#routes).includes(name)
  }

  /** Replaces the routes for all events that are published from now on. */
  change(routes: RouteSettings): void {
    this.#routes = routes
    this.#table = undefined
    // Eagerly, so that new streams are visible before the first event.
    this.current().catch((error) => this.#log.error(`the new routes are not in force yet: ${messageOf(error)}`))
  }

  /** Replaces the names of the streams with retention limits, which facts avoid from now on. */
  set limited(names: ReadonlySet<string>) {
    const isChanged = names.symmetricDifference(this.#limited).size > 0
    this.#limited = names
    if (isChanged) this.#table = undefined
  }

  /**
   * Activates the initial routes. If a new stream cannot be recorded, because the disk is full or the clock is wrong,
   * the node starts anyway, and the next publish retries.
   */
  async start(): Promise<void> {
    try {
      await this.current()
    } catch (error) {
      if (!(error instanceof ShoalError) || !refusals.has(error.code)) throw error
      this.#log.error(`the routes are not in force yet: ${error.message}`)
    }
  }

  /** The active routes; undefined while they are being updated, or while own streams are not complete. */
  get ready(): RoutingTable | undefined {
    return this.#names.areComplete ? this.#table : undefined
  }

  /** Waits for the active routes. Rejects when a new stream cannot be recorded, which has to precede its events. */
  async current(): Promise<RoutingTable> {
    for (let ready = this.ready; ; ready = this.ready) {
      if (ready !== undefined) return ready
      this.#updating ??= this.#update().finally(() => {
        this.#updating = undefined
      })
      await this.#updating
    }
  }

  /** Moves on to new streams from those that are frozen. Events that are published from now on go there. */
  async leaveFrozen(): Promise<void> {
    const moved = await this.#names.leaveFrozen(this.#limited.has(defaultStream.name))
    for (const { streamName, streamNr, replaces } of moved)
      this.#log.error(
        `there are two histories of stream ${replaces} ('${streamName}') of this node, so it is frozen: from now on events go to stream ${streamNr}`,
      )
    this.#table = undefined
  }

  async #update(): Promise<void> {
    const [routes, limited] = [this.#routes, this.#limited]
    const facts = needsFactsStream(routes, limited) ? [factsStream] : []
    await this.#names.add([...streamNames(routes), ...facts], limited.has(defaultStream.name))
    // Outdated if they were changed in the meantime: `current` updates again.
    if (routes === this.#routes && limited === this.#limited)
      this.#table = new RoutingTable(routes, this.#names.numbers, limited)
  }
}
