import { decodeMessage, encodeMessage } from '../../src/swarm/index.ts'
import type { Message } from '../../src/sync/index.ts'
import type { Random } from '../crash/random.ts'
import type { Agenda } from './agenda.ts'

/** What goes wrong on the way. */
export interface Faults {
  /** The shares of messages that are lost, sent twice, delayed beyond later ones, or altered. */
  readonly loss: number
  readonly duplication: number
  readonly reordering: number
  readonly corruption: number
  /** Longest delay of a message, in milliseconds. */
  readonly delayMs: number
}

export const noFaults: Faults = { loss: 0, duplication: 0, reordering: 0, corruption: 0, delayMs: 5 }

/** A node as the network knows it. */
export interface Endpoint {
  readonly name: string
  connected(peer: string): void
  disconnected(peer: string): void
  received(peer: string, message: Message): void
  /** Bytes that are no message have arrived. */
  garbled(peer: string): void
}

interface Link {
  readonly ends: readonly [Endpoint, Endpoint]
  /** Whether messages can pass: false while the nodes are apart. */
  isUp: boolean
  /** Counts connections: what was sent in an earlier one is not delivered. */
  session: number
  isConnected: boolean
  /** When the last message of each direction arrives: later ones do not overtake it. */
  readonly lastAt: [number, number]
}

/** Messages and bytes by kind. */
export class Traffic {
  readonly messages = new Map<string, number>()
  readonly bytes = new Map<string, number>()

  add(kind: string, bytes: number): void {
    this.messages.set(kind, (this.messages.get(kind) ?? 0) + 1)
    this.bytes.set(kind, (this.bytes.get(kind) ?? 0) + bytes)
  }

  clear(): void {
    this.messages.clear()
    this.bytes.clear()
  }

  get allBytes(): number {
    return [...this.bytes.values()].reduce((sum, bytes) => sum + bytes, 0)
  }
}

/** Connections between simulated nodes: in order and reliable unless a fault says otherwise. */
export class Network {
  readonly traffic = new Traffic()
  faults: Faults = noFaults
  readonly #agenda: Agenda
  readonly #random: Random
  readonly #links = new Map<string, Link>()
  readonly #trace: (text: string) => void

  constructor(agenda: Agenda, random: Random, trace: (text: string) => void) {
    this.#agenda = agenda
    this.#random = random
    this.#trace = trace
  }

  /** Lets two nodes reach each other. They connect after a moment. */
  join(a: Endpoint, b: Endpoint): void {
    this.#links.set(linkName(a.name, b.name), {
      ends: [a, b],
      isUp: true,
      session: 0,
      isConnected: false,
      lastAt: [0, 0],
    })
    this.#dial(a.name, b.name)
  }

  /** Cuts or restores links, by whether two nodes are still to reach each other. */
  partition(canReach: (a: string, b: string) => boolean): void {
    for (const link of this.#links.values()) {
      const [a, b] = link.ends
      link.isUp = canReach(a.name, b.name)
      if (!link.isUp) this.disconnect(a.name, b.name)
      else if (!link.isConnected) this.#dial(a.name, b.name)
    }
  }

  /** Ends a connection; both sides notice, and connect again after a while. */
  disconnect(a: string, b: string): void {
    const link = this.#links.get(linkName(a, b))
    if (link === undefined || !link.isConnected) return
    link.isConnected = false
    link.session++
    this.#trace('disconnect')
    for (const [end, other] of [link.ends, [...link.ends].reverse() as [Endpoint, Endpoint]])
      end.disconnected(other.name)
    this.#dial(a, b)
  }

  /** Ends all connections of a node. */
  isolate(name: string): void {
    for (const { ends } of [...this.#links.values()]) {
      const [a, b] = ends
      if (a.name === name || b.name === name) this.disconnect(a.name, b.name)
    }
  }

  send(from: string, to: string, message: Message): void {
    const link = this.#links.get(linkName(from, to))
    if (link === undefined || !link.isConnected) return
    const bytes = encodeMessage(message)
    this.traffic.add(message.is, bytes.length)
    const { loss, duplication, reordering, corruption, delayMs } = this.faults
    const random = this.#random
    if (random.chance(loss)) return
    const sent = random.chance(corruption) ? flipped(bytes, random) : bytes
    const direction = link.ends[0].name === from ? 0 : 1
    const copies = random.chance(duplication) ? 2 : 1
    for (let i = 0; i < copies; i++) {
      const at = this.#agenda.nowMs + 0.1 + random.next() * delayMs
      const inOrder = Math.max(at, link.lastAt[direction])
      const arrives = random.chance(reordering) ? at : inOrder
      link.lastAt[direction] = Math.max(inOrder, link.lastAt[direction])
      this.#deliver(link, direction, sent, arrives - this.#agenda.nowMs)
    }
  }

  #deliver(link: Link, direction: 0 | 1, bytes: Uint8Array, delayMs: number): void {
    const { session } = link
    const [from, to] = direction === 0 ? link.ends : ([...link.ends].reverse() as [Endpoint, Endpoint])
    this.#agenda.after(delayMs, () => {
      if (!link.isConnected || link.session !== session) return
      const message = decoded(bytes)
      if (message === 'garbled') to.garbled(from.name)
      else if (message !== undefined) to.received(from.name, message)
    })
  }

  #dial(a: string, b: string): void {
    const link = this.#links.get(linkName(a, b))
    if (link === undefined) return
    this.#agenda.after(50 + this.#random.next() * 2000, () => {
      if (link.isConnected || !link.isUp) return
      link.isConnected = true
      link.session++
      link.lastAt.fill(this.#agenda.nowMs)
      this.#trace('connect')
      for (const [end, other] of [link.ends, [...link.ends].reverse() as [Endpoint, Endpoint]])
        end.connected(other.name)
    })
  }
}

function decoded(bytes: Uint8Array): Message | 'garbled' | undefined {
  try {
    return decodeMessage(bytes)
  } catch {
    return 'garbled'
  }
}

function flipped(bytes: Uint8Array, random: Random): Uint8Array {
  const altered = Uint8Array.from(bytes)
  const at = random.below(altered.length)
  altered[at] = (altered[at] as number) ^ (1 << random.below(8))
  return altered
}

function linkName(a: string, b: string): string {
  return a < b ? `${a}/${b}` : `${b}/${a}`
}
