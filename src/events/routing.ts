import { type ErrorCode, messageOf, ShoalError } from '../base/errors.ts'
import type { Logger } from '../logging/index.ts'
import { type RouteSettings, RoutingTable, streamNames } from './routing-table.ts'
import type { StreamNames } from './stream-names.ts'

/** Why something cannot be stored for now. */
const refusals: ReadonlySet<ErrorCode> = new Set(['ERR_STORAGE', 'ERR_CLOCK'])

/** The routes that are in force, and the names of streams that go with them. */
export class Routing {
  readonly #names: StreamNames
  readonly #log: Logger
  #routes: RouteSettings
  #table: RoutingTable | undefined
  #making: Promise<void> | undefined

  constructor(names: StreamNames, routes: RouteSettings, log: Logger) {
    this.#names = names
    this.#routes = routes
    this.#log = log
  }

  /** Whether events can be in a stream of this name: it was recorded, or is about to be. */
  knows(name: string): boolean {
    return this.#names.numbers.has(name) || streamNames(this.#routes).includes(name)
  }

  /** Puts other routes in force: whatever is published from now on follows them. */
  change(routes: RouteSettings): void {
    this.#routes = routes
    this.#table = undefined
    // Not only with the next event: whoever looks sees the streams that there are.
    this.current().catch((error) => this.#log.error(`the new routes are not in force yet: ${messageOf(error)}`))
  }

  /**
   * Puts the routes in force for the first time. When a new stream cannot be recorded, since the disk is full or the clock
   * is wrong, events can be read nevertheless; the next one that is published tries again.
   */
  async start(): Promise<void> {
    try {
      await this.current()
    } catch (error) {
      if (!(error instanceof ShoalError) || !refusals.has(error.code)) throw error
      this.#log.error(`the routes are not in force yet: ${error.message}`)
    }
  }

  /** The routes in force, if they are; otherwise somebody has to wait for them. */
  get settled(): RoutingTable | undefined {
    return this.#table
  }

  /** The routes in force. A new stream has to be recorded before anything goes into it; when that fails, so does this. */
  async current(): Promise<RoutingTable> {
    while (this.#table === undefined) {
      this.#making ??= this.#make().finally(() => {
        this.#making = undefined
      })
      await this.#making
    }
    return this.#table
  }

  async #make(): Promise<void> {
    const routes = this.#routes
    await this.#names.add(streamNames(routes))
    // Others may have come in the meantime; then it is their turn.
    if (routes === this.#routes) this.#table = new RoutingTable(routes, this.#names.numbers)
  }
}
