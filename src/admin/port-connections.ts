import type { Socket } from 'node:net'
import { EvictionPolicy } from './access/eviction-policy.ts'

/** The connections of the admin port, on all its addresses. Evicts some, so that idle ones do not keep users out. */
export class PortConnections {
  readonly #policy: EvictionPolicy<string>
  readonly #sockets = new Map<string, Socket>()
  readonly #onEvicted: () => void

  constructor(max: number, onEvicted: () => void) {
    this.#policy = new EvictionPolicy(max)
    this.#onEvicted = onEvicted
  }

  /** Adds an accepted connection, before its TLS handshake. */
  add(socket: Socket): void {
    const name = nameOf(socket)
    this.#sockets.set(name, socket)
    socket.once('close', () => {
      this.#policy.closed(name)
      this.#sockets.delete(name)
    })
    const evicted = this.#policy.opened(name, socket.remoteAddress ?? '')
    if (evicted === undefined) return
    this.#onEvicted()
    this.#sockets.get(evicted)?.destroy()
  }

  /** Records whether the last request over a connection had a session. */
  markSession(socket: Socket, hasSession: boolean): void {
    this.#policy.markSession(nameOf(socket), hasSession)
  }
}

/** The 4-tuple as text: a TLS socket and the TCP socket below it have the same. */
function nameOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(' ')
}
