import type { Socket } from 'node:net'
import { PortPlaces } from './access/port-places.ts'

/** The connections of the admin port, on all its addresses: idle ones must not keep users out. */
export class PortConnections {
  readonly #places: PortPlaces<string>
  readonly #sockets = new Map<string, Socket>()
  readonly #evicted: () => void

  /** @param evicted called for each connection that was closed to make room */
  constructor(max: number, evicted: () => void) {
    this.#places = new PortPlaces(max)
    this.#evicted = evicted
  }

  /** Adds an accepted connection, before its TLS handshake. */
  add(socket: Socket): void {
    const name = nameOf(socket)
    this.#sockets.set(name, socket)
    socket.once('close', () => {
      this.#places.closed(name)
      this.#sockets.delete(name)
    })
    const surplus = this.#places.opened(name, socket.remoteAddress ?? '')
    if (surplus === undefined) return
    this.#evicted()
    this.#sockets.get(surplus)?.destroy()
  }

  /** Notes whether the last request over a connection had a session. */
  asked(socket: Socket, hasSession: boolean): void {
    this.#places.asked(nameOf(socket), hasSession)
  }
}

/** The same for a TLS connection and for the TCP connection below it. */
function nameOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(' ')
}
