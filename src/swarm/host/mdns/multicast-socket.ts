import { createSocket, type Socket } from 'node:dgram'
import type { Interface } from './interfaces.ts'

const port = 5353
const groups = { 4: '224.0.0.251', 6: 'ff02::fb' } as const

export type Family = keyof typeof groups

/** A socket of multicast DNS for one address family, which is a member of the group on several interfaces. */
export class MulticastSocket {
  readonly #family: Family
  readonly #socket: Socket
  /** Interfaces on which it is a member of the group, by name, with the text that selects them. */
  #joined = new Map<string, string>()
  /** Selecting an interface and sending are two steps, so packets are sent one after the other. */
  #sending: Promise<unknown> = Promise.resolve()
  #isClosed = false

  private constructor(family: Family, socket: Socket) {
    this.#family = family
    this.#socket = socket
  }

  /** Binds the port, which other programs of this machine may use as well. Rejects when it cannot. */
  static async open(
    family: Family,
    received: (bytes: Buffer) => void,
    failed: (error: Error) => void,
  ): Promise<MulticastSocket> {
    const socket = createSocket({ type: `udp${family}`, reuseAddr: true, ipv6Only: family === 6 })
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.bind({ port, address: family === 4 ? '0.0.0.0' : '::' }, () => {
        socket.off('error', reject)
        resolve()
      })
    }).catch((error: unknown) => {
      socket.close()
      throw error
    })
    socket.on('error', failed)
    socket.on('message', received)
    // Nodes of one machine find each other, and packets never leave the link.
    socket.setMulticastLoopback(true)
    socket.setMulticastTTL(255)
    socket.unref()
    return new MulticastSocket(family, socket)
  }

  /** Joins the group on these interfaces, and leaves it on others. Returns the names of those that are new. */
  join(interfaces: readonly Interface[]): string[] {
    const wanted = new Map<string, string>()
    for (const { name, ip4, ip6 } of interfaces) {
      const [address] = this.#family === 4 ? ip4 : ip6
      if (address !== undefined) wanted.set(name, this.#family === 4 ? address : `::%${name}`)
    }
    for (const [name, selector] of this.#joined) {
      if (wanted.get(name) === selector) continue
      this.#joined.delete(name)
      attempt(() => this.#socket.dropMembership(groups[this.#family], selector))
    }
    const added: string[] = []
    for (const [name, selector] of wanted) {
      if (this.#joined.has(name)) continue
      if (!attempt(() => this.#socket.addMembership(groups[this.#family], selector))) continue
      this.#joined.set(name, selector)
      added.push(name)
    }
    return added
  }

  /** Sends a packet on one interface, if it is a member there. A packet that cannot be sent is lost. */
  send(name: string, bytes: Buffer): void {
    const selector = this.#joined.get(name)
    if (selector === undefined || this.#isClosed) return
    this.#sending = this.#sending.then(
      () =>
        new Promise((resolve) => {
          if (this.#isClosed || !attempt(() => this.#socket.setMulticastInterface(selector))) resolve(undefined)
          else this.#socket.send(bytes, port, groups[this.#family], resolve)
        }),
    )
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.#sending
    this.#isClosed = true
    await new Promise<void>((resolve) => this.#socket.close(resolve))
  }
}

/** Interfaces come and go: a call that fails for one of them is tried again later, or was in vain. */
function attempt(work: () => void): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}
