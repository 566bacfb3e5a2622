import type { Server, Socket } from 'node:net'

/** Limits the open connections of one port, over all its servers: there is one server per address. */
export class ConnectionLimit {
  readonly max: number
  readonly #refused: () => void
  /** Open connections by server. */
  readonly #servers = new Map<Server, number>()
  #open = 0

  /** `refused` is called for each connection that is closed because of the limit. */
  constructor(max: number, refused: () => void) {
    this.max = max
    this.#refused = refused
  }

  /** Open connections. */
  get open(): number {
    return this.#open
  }

  add(server: Server): void {
    this.#servers.set(server, 0)
    this.#divide()
    server.on('connection', (socket: Socket) => {
      this.#count(server, 1)
      socket.once('close', () => this.#count(server, -1))
    })
    server.on('drop', this.#refused)
    // A failed accept, for example because of file descriptor exhaustion, must not crash the node. Errors of `listen`
    // have a listener of their own.
    server.on('error', () => {
      if (server.listening) this.#refused()
    })
  }

  #count(server: Server, change: 1 | -1): void {
    this.#open += change
    this.#servers.set(server, (this.#servers.get(server) ?? 0) + change)
    this.#divide()
  }

  /** Node closes connections above `maxConnections` at once, without allocating a socket object. */
  #divide(): void {
    const free = this.max - this.#open
    for (const [server, open] of this.#servers) server.maxConnections = open + free
  }
}
