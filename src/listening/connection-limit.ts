import type { Server, Socket } from 'node:net'

/** Bounds the connections of all servers of one port together; there is one server for each address. */
export class ConnectionLimit {
  readonly max: number
  readonly #refused: () => void
  /** Open connections by server. */
  readonly #servers = new Map<Server, number>()
  #open = 0

  /** `refused` is called for each connection that is closed at once. */
  constructor(max: number, refused: () => void) {
    this.max = max
    this.#refused = refused
  }

  add(server: Server): void {
    this.#servers.set(server, 0)
    this.#divide()
    server.on('connection', (socket: Socket) => {
      this.#count(server, 1)
      socket.once('close', () => this.#count(server, -1))
    })
    server.on('drop', this.#refused)
    // A connection that could not be accepted, say for want of descriptors, is no reason to stop. Errors of `listen` have a listener.
    server.on('error', () => {
      if (server.listening) this.#refused()
    })
  }

  #count(server: Server, change: 1 | -1): void {
    this.#open += change
    this.#servers.set(server, (this.#servers.get(server) ?? 0) + change)
    this.#divide()
  }

  /** Node closes connections above `maxConnections` at once, without making objects for them. */
  #divide(): void {
    const free = this.max - this.#open
    for (const [server, open] of this.#servers) server.maxConnections = open + free
  }
}
