import {
  decodeExchangeMessage,
  type ExchangeMessage,
  encodeExchangeMessage,
  isExchangeMessage,
  type Message,
} from '../../src/sync/index.ts'
import type { Random } from '../crash/random.ts'
import type { Agenda } from './agenda.ts'
import { bothWays, type Link, Links, labelsOf } from './links.ts'
import { SharedMessages } from './shared-messages.ts'
import type { Trace } from './trace.ts'
import { Traffic } from './traffic.ts'

/** What goes wrong on the way. */
export interface NetworkFaults {
  /** The shares of messages that are lost, sent twice, delayed beyond later ones, or altered. */
  loss: number
  duplication: number
  reordering: number
  corruption: number
  /** Longest delay of a message, in milliseconds. */
  delayMs: number
  /** The bandwidth of each direction of a link. */
  bytesPerMs: number
}

const noFaults: NetworkFaults = {
  loss: 0,
  duplication: 0,
  reordering: 0,
  corruption: 0,
  delayMs: 5,
  bytesPerMs: Number.POSITIVE_INFINITY,
}

/** A link whose queue takes longer than this is cut when the faults end. */
const longestQueueMs = 5000

/** A node as the network knows it. */
export interface Endpoint {
  readonly name: string
  /** A short name for traces. */
  readonly label: string
  connected(peer: string): void
  disconnected(peer: string): void
  received(peer: string, message: Message): void
  receivedBlocks(peer: string, message: ExchangeMessage): void
  /** Bytes that are no message have arrived. */
  garbled(peer: string): void
}

export interface NetworkOptions {
  readonly agenda: Agenda
  readonly random: Random
  readonly trace: Trace
  /** Called with every message that an honest node sends. */
  readonly onSend: (message: Message) => void
  /** Called when a node ends a connection because of what the other one has sent, or has not. */
  readonly onClose: (by: string, peer: string) => void
}

/** Connections between simulated nodes: in order and reliable unless a fault says otherwise. */
export class Network {
  readonly traffic = new Traffic()
  readonly faults: NetworkFaults = { ...noFaults }
  readonly #options: NetworkOptions
  readonly #links = new Links()
  readonly #messages = new SharedMessages()
  /** Which nodes can reach each other. */
  #canReach: (a: string, b: string) => boolean = () => true

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  /** Lets two nodes reach each other. They connect after a moment. */
  join(a: Endpoint, b: Endpoint): void {
    if (this.#links.between(a.name, b.name) !== undefined) return
    this.#links.add(a, b, this.#canReach(a.name, b.name))
    this.#dial(a.name, b.name)
  }

  /** Removes a node for ever. */
  leave(name: string): void {
    for (const link of [...this.#links]) {
      const [a, b] = link.ends
      if (a.name !== name && b.name !== name) continue
      this.#cut(a.name, b.name)
      link.isUp = false
      this.#links.delete(link)
    }
  }

  /** Cuts or restores links, by whether two nodes are still to reach each other. */
  partition(canReach: (a: string, b: string) => boolean): void {
    this.#canReach = canReach
    for (const link of this.#links) {
      const [a, b] = link.ends
      link.isUp = canReach(a.name, b.name)
      if (!link.isUp) this.#cut(a.name, b.name)
      else if (!link.isConnected) this.#dial(a.name, b.name)
    }
  }

  /** From now on nothing fails. */
  calm(): void {
    Object.assign(this.faults, noFaults)
    // Otherwise what is queued on slow links would hold up everything after it.
    const soon = this.#options.agenda.nowMs + longestQueueMs
    for (const { ends, lastAt, lastBlockAt } of this.#links)
      if (Math.max(...lastAt, ...lastBlockAt) > soon) this.#cut(ends[0].name, ends[1].name)
    this.partition(() => true)
  }

  /** Lets a node end a connection; both sides notice, and connect again after a while. */
  disconnect(by: string, peer: string): void {
    if (this.#isConnected(by, peer)) this.#options.onClose(by, peer)
    this.#cut(by, peer)
  }

  #cut(a: string, b: string): void {
    const link = this.#links.between(a, b)
    if (link === undefined || !link.isConnected) return
    link.isConnected = false
    link.session++
    this.#options.trace.note(`disconnect ${labelsOf(link)}`)
    for (const [end, other] of bothWays(link)) end.disconnected(other.name)
    this.#dial(a, b)
  }

  /** Ends all connections of a node. */
  isolate(name: string): void {
    for (const { ends } of [...this.#links]) {
      const [a, b] = ends
      if (a.name === name || b.name === name) this.#cut(a.name, b.name)
    }
  }

  send(from: string, to: string, message: Message): void {
    if (!this.#isConnected(from, to)) return
    this.#options.onSend(message)
    this.sendBytes(from, to, this.#messages.encode(message), message.is)
  }

  /** Sends a message about blocks. Calls back when it has left, unless the connection has ended. */
  sendBlocks(from: string, to: string, message: ExchangeMessage, onSent: () => void): void {
    const link = this.#links.between(from, to)
    const sentAt = this.sendBytes(from, to, encodeExchangeMessage(message), message.is)
    if (link === undefined || sentAt === undefined) return
    const { session } = link
    const { agenda } = this.#options
    agenda.after(sentAt - agenda.nowMs, () => {
      if (link.isConnected && link.session === session) onSent()
    })
  }

  /** Sends bytes that need not be a message. Returns when they have left; undefined without a connection. */
  sendBytes(from: string, to: string, bytes: Uint8Array, kind = 'bytes'): number | undefined {
    const link = this.#links.between(from, to)
    if (link === undefined || !link.isConnected) return undefined
    this.traffic.add(kind, bytes.length)
    const { loss, duplication, reordering, corruption, delayMs, bytesPerMs } = this.faults
    const { random, agenda } = this.#options
    if (random.chance(loss)) return agenda.nowMs
    const sent = random.chance(corruption) ? flipped(bytes, random) : bytes
    const direction = link.ends[0].name === from ? 0 : 1
    const lastAt = isExchangeMessage(bytes) ? link.lastBlockAt : link.lastAt
    const copies = random.chance(duplication) ? 2 : 1
    for (let i = 0; i < copies; i++) {
      const sentAt = Math.max(agenda.nowMs, link.busyUntil[direction]) + bytes.length / bytesPerMs
      link.busyUntil[direction] = sentAt
      const at = sentAt + 0.1 + random.next() * delayMs
      const inOrder = Math.max(at, lastAt[direction])
      const arrives = random.chance(reordering) ? at : inOrder
      lastAt[direction] = Math.max(inOrder, lastAt[direction])
      this.#deliver(link, direction, sent, arrives - agenda.nowMs)
    }
    return link.busyUntil[direction]
  }

  /** How long it takes until what a node has sent to another one has left. */
  queuedMs(from: string, to: string): number {
    const link = this.#links.between(from, to)
    if (link === undefined) return 0
    return link.busyUntil[link.ends[0].name === from ? 0 : 1] - this.#options.agenda.nowMs
  }

  /** For how long two nodes are connected; 0 when they are not. */
  connectedMs(a: string, b: string): number {
    const link = this.#links.between(a, b)
    return link?.isConnected === true ? this.#options.agenda.nowMs - link.connectedAt : 0
  }

  #isConnected(a: string, b: string): boolean {
    return this.#links.between(a, b)?.isConnected === true
  }

  #deliver(link: Link, direction: 0 | 1, bytes: Uint8Array, delayMs: number): void {
    const { session } = link
    const { agenda, trace } = this.#options
    const [from, to] = bothWays(link)[direction]
    agenda.after(delayMs, () => {
      if (!link.isConnected || link.session !== session) return
      trace.noteBytes(`${from.label} to ${to.label}`, bytes)
      if (isExchangeMessage(bytes)) deliverBlocks(bytes, from, to)
      else this.#deliverMessage(bytes, from, to)
    })
  }

  #deliverMessage(bytes: Uint8Array, from: Endpoint, to: Endpoint): void {
    const message = this.#messages.decode(bytes)
    if (message === 'malformed') to.garbled(from.name)
    // Messages of unknown kinds are skipped.
    else if (message !== 'unknown') to.received(from.name, message)
  }

  #dial(a: string, b: string): void {
    const link = this.#links.between(a, b)
    if (link === undefined) return
    const { agenda, random, trace } = this.#options
    agenda.after(50 + random.next() * 2000, () => {
      if (link.isConnected || !link.isUp) return
      link.isConnected = true
      link.connectedAt = agenda.nowMs
      link.session++
      for (const lastAt of [link.lastAt, link.lastBlockAt]) lastAt.fill(agenda.nowMs)
      link.busyUntil.fill(agenda.nowMs)
      trace.note(`connect ${labelsOf(link)}`)
      for (const [end, other] of bothWays(link)) end.connected(other.name)
    })
  }
}

function deliverBlocks(bytes: Uint8Array, from: Endpoint, to: Endpoint): void {
  const message = blocksIn(bytes)
  if (message === undefined) to.garbled(from.name)
  else to.receivedBlocks(from.name, message)
}

function blocksIn(bytes: Uint8Array): ExchangeMessage | undefined {
  try {
    return decodeExchangeMessage(bytes)
  } catch {
    return undefined
  }
}

function flipped(bytes: Uint8Array, random: Random): Uint8Array {
  const altered = Uint8Array.from(bytes)
  const at = random.below(altered.length)
  altered[at] = (altered[at] as number) ^ (1 << random.below(8))
  return altered
}
