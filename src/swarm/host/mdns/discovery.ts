import { limits } from '../../../base/limits.ts'
import type { Logger } from '../../../logging/index.ts'
import type { Runtime } from '../../../runtime/system-runtime.ts'
import type { Timer } from '../../../runtime/timers.ts'
import { type Announcement, announced, announcement, isQuery, query } from './announcement.ts'
import { decodeDns, encodeDns } from './dns-message.ts'
import { addressesOn, type Interface, listInterfaces } from './interfaces.ts'
import { type Family, MulticastSocket } from './multicast-socket.ts'

export interface DiscoveryOptions {
  readonly service: string
  /** The name of this node. */
  readonly self: string
  /** The addresses that this node listens at now. */
  readonly listening: () => readonly string[]
  /** Further addresses to announce on all interfaces. */
  readonly announce: () => readonly string[]
  readonly runtime: Runtime
  readonly log: Logger
  readonly onFound: (found: Announcement) => void
}

/** Finds the nodes of a swarm on the local network, by multicast DNS on all interfaces. */
export class MdnsDiscovery {
  readonly #options: DiscoveryOptions
  readonly #sockets = new Map<Family, MulticastSocket>()
  readonly #failures = new Map<Family, string>()
  #interval: Timer | undefined
  #answer: Timer | undefined
  #answeredAt = Number.NEGATIVE_INFINITY
  /** Packets that may still be read before the next interval. */
  #packets = 0
  #isClosed = false

  private constructor(options: DiscoveryOptions) {
    this.#options = options
  }

  static async start(options: DiscoveryOptions): Promise<MdnsDiscovery> {
    const discovery = new MdnsDiscovery(options)
    const { timers, random } = options.runtime
    // Nodes that start together announce themselves at different times.
    const jitter = (random.bytes(1)[0] ?? 0) / 256
    discovery.#interval = timers
      .setInterval(() => void discovery.#announceAgain(), limits.mdnsIntervalMs * (0.75 + jitter / 2))
      .unref()
    await discovery.#announceAgain()
    return discovery
  }

  async stop(): Promise<void> {
    this.#isClosed = true
    const { timers } = this.#options.runtime
    timers.clear(this.#interval)
    timers.clear(this.#answer)
    await Promise.all([...this.#sockets.values()].map((socket) => socket.close()))
    this.#sockets.clear()
  }

  /** Announces this node on all interfaces, and asks on new ones who is there. */
  async #announceAgain(): Promise<void> {
    this.#packets = limits.mdnsPackets
    const interfaces = listInterfaces()
    for (const family of [4, 6] as const) {
      const socket = await this.#socketOf(family)
      for (const name of socket?.join(interfaces) ?? []) socket?.send(name, encodeDns(query(this.#options.service)))
    }
    this.#announceOn(interfaces)
  }

  async #socketOf(family: Family): Promise<MulticastSocket | undefined> {
    const known = this.#sockets.get(family)
    if (known !== undefined || this.#isClosed) return known
    try {
      const socket = await MulticastSocket.open(
        family,
        (bytes) => this.#received(bytes),
        (error) => void this.#failed(family, error),
      )
      this.#failures.delete(family)
      if (this.#isClosed) await socket.close()
      else this.#sockets.set(family, socket)
      return socket
    } catch (error) {
      this.#report(family, error)
      return undefined
    }
  }

  /** A socket that has failed is opened again with the next interval. */
  async #failed(family: Family, error: Error): Promise<void> {
    this.#report(family, error)
    const socket = this.#sockets.get(family)
    this.#sockets.delete(family)
    await socket?.close()
  }

  /** Each reason is logged once until it works again. */
  #report(family: Family, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    if (this.#failures.get(family) === reason) return
    this.#failures.set(family, reason)
    this.#options.log.warn(`peers cannot be found on the local network with IPv${family}: ${reason}`)
  }

  #announceOn(interfaces: readonly Interface[]): void {
    if (this.#isClosed) return
    this.#answeredAt = this.#options.runtime.clock.steadyMs()
    const { service, self, listening, announce } = this.#options
    const own = listening()
    for (const one of interfaces) {
      const addresses = [...announce(), ...addressesOn(one, own)]
      if (addresses.length === 0) continue
      const bytes = encodeDns(announcement(service, { peer: self, addresses }))
      for (const socket of this.#sockets.values()) socket.send(one.name, bytes)
    }
  }

  #received(bytes: Buffer): void {
    // Other programs use the same port: a flood of their packets must not take the processor.
    if (--this.#packets < 0 || bytes.length > limits.mdnsPacketBytes) return
    const { service, self, onFound } = this.#options
    // Most packets on the port belong to other services.
    if (!bytes.includes(service.slice(0, service.indexOf('.')), 0, 'latin1')) return
    try {
      const message = decodeDns(bytes)
      if (isQuery(message, service)) this.#answerSoon()
      for (const found of announced(message, service)) if (found.peer !== self) onFound(found)
    } catch {
      // A malformed packet of another program.
    }
  }

  /** One announcement answers all queries of a second. */
  #answerSoon(): void {
    if (this.#answer !== undefined || this.#isClosed) return
    const { clock, timers, random } = this.#options.runtime
    const jitter = random.bytes(1)[0] ?? 0
    const since = clock.steadyMs() - this.#answeredAt
    const delay = Math.max(limits.mdnsAnswerMs - since, 0) + jitter / 2
    this.#answer = timers
      .setTimeout(() => {
        this.#answer = undefined
        this.#announceOn(listInterfaces())
      }, delay)
      .unref()
  }
}
