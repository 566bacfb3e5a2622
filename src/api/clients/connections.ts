import type { Socket } from 'node:net'
import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import type { MemoryAccount } from '../../client-memory/account.ts'
import { type Logger, RateLimit } from '../../logging/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Timer, Timers } from '../../runtime/timers.ts'
import { Connection } from './connection.ts'
import { HttpPipeline } from './http-pipeline.ts'

export interface Client {
  readonly connection: Connection
  readonly http: HttpPipeline
}

export interface ConnectionsOptions {
  readonly account: MemoryAccount
  readonly log: Logger
  readonly clock: Clock
  readonly timers: Timers
  /** Called for each connection that was closed to free memory. */
  readonly evicted?: (reason: 'stalled' | 'refused') => void
  readonly auditMs?: number
  readonly stalledMs?: number
  readonly stalledUnderPressureMs?: number
}

/** All client connections, on every listening address. Stalled connections are closed after a timeout. */
export class Connections {
  readonly account: MemoryAccount
  readonly #options: ConnectionsOptions
  readonly #clients = new Map<Socket, Client>()
  readonly #stalled: RateLimit
  readonly #refused: RateLimit
  #timer: Timer | undefined

  constructor(options: ConnectionsOptions) {
    this.account = options.account
    this.#options = options
    this.#stalled = new RateLimit(limits.refusalLogMs, options.clock)
    this.#refused = new RateLimit(limits.refusalLogMs, options.clock)
  }

  get count(): number {
    return this.#clients.size
  }

  /** Accepts a connection, or closes it when connections alone would use more than half of the memory account. */
  add(socket: Socket): void {
    const { account } = this
    const { clock, timers } = this.#options
    const connection = new Connection(socket, account, clock.steadyMs())
    const isTooMany = (this.#clients.size + 1) * limits.connectionBytes > account.limitBytes / 2
    if (isTooMany || !connection.charge(limits.connectionBytes)) {
      const { log, evicted } = this.#options
      this.#refused.occurred((count) => log.warn('closed a new connection: no memory left for clients', { count }))
      evicted?.('refused')
      connection.close()
      socket.destroy()
      return
    }
    const http = new HttpPipeline(socket, connection)
    connection.protocol = http
    this.#clients.set(socket, { connection, http })
    socket.once('close', () => {
      this.#clients.delete(socket)
      connection.close()
    })
    this.#timer ??= timers.setInterval(() => this.audit(), this.#options.auditMs ?? limits.connectionAuditMs).unref()
  }

  /** The client of a socket. */
  of(socket: Socket): Client {
    const client = this.#clients.get(socket)
    assert(client !== undefined, 'a request arrives over an accepted connection')
    return client
  }

  /** Audits all connections, and closes the stalled ones. */
  audit(now = this.#options.clock.steadyMs()): void {
    if (this.#clients.size === 0) {
      this.#options.timers.clear(this.#timer)
      this.#timer = undefined
    }
    const stalled: { readonly connection: Connection; readonly ms: number }[] = []
    for (const { connection } of this.#clients.values()) {
      const ms = connection.audit(now)
      if (ms > 0) stalled.push({ connection, ms })
    }
    // Largest first: evicting a few of them makes room for many small ones.
    stalled.sort((a, b) => b.connection.heldBytes - a.connection.heldBytes)
    const { stalledMs = limits.stalledMs, stalledUnderPressureMs = limits.stalledUnderPressureMs } = this.#options
    // The account is refunded later, when the evicted connections are closed: count it here.
    let excess = this.account.pressureBytes
    for (const { connection, ms } of stalled) {
      if (ms < (excess > 0 ? stalledUnderPressureMs : stalledMs)) continue
      excess -= connection.heldBytes
      this.#evict(connection, ms)
    }
  }

  #evict(connection: Connection, ms: number): void {
    const { log, evicted } = this.#options
    const seconds = Math.round(ms / 1000)
    const { remote, heldBytes } = connection
    this.#stalled.occurred((count) =>
      log.warn(`closed the connection from ${remote}: no progress for ${seconds} s, ${heldBytes} bytes held`, {
        count,
      }),
    )
    evicted?.('stalled')
    connection.evict()
  }
}
