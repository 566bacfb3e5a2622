import type { KeyPair } from '../../../src/identity/index.ts'
import { fullHead, heads, MalformedBytes } from '../../../src/protocol/index.ts'
import { encodeMessage } from '../../../src/swarm/index.ts'
import { type ExchangeMessage, encodeExchangeMessage, type Message } from '../../../src/sync/index.ts'
import type { Random } from '../../crash/random.ts'
import type { SimClock } from '../agenda.ts'
import type { Endpoint } from '../network.ts'
import { simTopic } from '../sim-store.ts'
import type { Swarm } from '../swarm.ts'
import { OwnStream } from './own-stream.ts'

type HeadEntry = Extract<Message, { is: 'heads' }>['entries'][number]
export type WantMessage = Extract<Message, { is: 'want' }>

/** How a hostile node behaves. */
export interface Behaviour {
  /** Called again and again for every connected peer. */
  act?(node: HostileNode, peer: string): void
  /** Answers a request; by default with own chunks, or nothing. */
  answer?(node: HostileNode, peer: string, want: WantMessage): void
  /** Answers a request for the evidence of a fork; by default not at all. */
  answerEvidence?(node: HostileNode, peer: string, id: number): void
  /** Answers a message about blocks; by default it has none. */
  answerBlocks?(node: HostileNode, peer: string, message: ExchangeMessage): void
  /** Whether it says hello. */
  readonly isMute?: boolean
  /** Features that it requires of its peers. */
  readonly required?: readonly string[]
}

const actEveryMs = 1000
const mostCaptured = 64

/** A node that speaks the protocol with bytes of its own making, and knows what honest nodes send to it. */
export class HostileNode implements Endpoint {
  readonly name: string
  readonly label: string
  readonly key: KeyPair
  readonly random: Random
  readonly swarm: Swarm
  readonly clock: SimClock
  /** Chunks and heads of honest nodes that it has received. */
  readonly chunks: Uint8Array[] = []
  readonly heads: HeadEntry[] = []
  /** The identifiers of blocks that honest nodes want. */
  readonly cids: Uint8Array[] = []
  readonly #behaviour: Behaviour
  readonly #peers = new Map<string, { isReady: boolean }>()
  readonly #streams = new Map<number, OwnStream>()
  #nextWant = 1
  #isActive = true

  constructor(swarm: Swarm, label: string, behaviour: Behaviour) {
    this.swarm = swarm
    this.label = label
    this.random = swarm.random(`hostile ${label}`)
    this.key = swarm.key(label)
    this.clock = swarm.runtime(label).clock
    this.name = Buffer.from(this.key.publicKey).toString('latin1')
    this.#behaviour = behaviour
  }

  /** Starts to act, until the faults end. Then it is silent. */
  start(): void {
    const { agenda } = this.swarm
    this.swarm.whenFaultsEnd(() => {
      this.#isActive = false
      if (this.random.chance(0.5)) this.swarm.network.leave(this.name)
    })
    const act = (): void => {
      if (!this.#isActive) return
      for (const [peer, { isReady }] of this.#peers) if (isReady) this.#behaviour.act?.(this, peer)
      agenda.after(this.random.next() * 2 * actEveryMs, act)
    }
    agenda.after(this.random.next() * 2 * actEveryMs, act)
  }

  /** One of its own streams, which is created with its first use. */
  stream(number: number): OwnStream {
    const stream = this.#streams.get(number) ?? new OwnStream(this.key, number)
    this.#streams.set(number, stream)
    return stream
  }

  connected(peer: string): void {
    this.#peers.set(peer, { isReady: false })
    if (this.#behaviour.isMute !== true)
      this.send(peer, {
        is: 'hello',
        version: 1,
        features: [],
        required: this.#behaviour.required ?? [],
        time: this.clock.now(),
      })
  }

  disconnected(peer: string): void {
    this.#peers.delete(peer)
  }

  received(peer: string, message: Message): void {
    if (message.is === 'hello') this.#greeted(peer)
    else if (message.is === 'heads') this.#keepHeads(peer, message.entries)
    else if (message.is === 'push' || message.is === 'chunk') this.#keepChunk(message)
    else if (message.is === 'want-evidence' && this.#isActive) this.#behaviour.answerEvidence?.(this, peer, message.id)
    else if (message.is === 'want' && this.#isActive) {
      if (this.#behaviour.answer === undefined) this.answerHonestly(peer, message)
      else this.#behaviour.answer(this, peer, message)
    }
  }

  receivedBlocks(peer: string, message: ExchangeMessage): void {
    if (message.is !== 'block') for (const cid of message.cids) keep(this.cids, cid, this.random)
    if (!this.#isActive) return
    if (this.#behaviour.answerBlocks !== undefined) this.#behaviour.answerBlocks(this, peer, message)
    else if (message.is === 'wantBlocks') this.sendBlocks(peer, { is: 'blocksNotHere', cids: message.cids })
  }

  garbled(): void {}

  #keepChunk(message: { readonly chunk: Uint8Array }): void {
    try {
      keep(this.chunks, message.chunk, this.random)
    } catch (error) {
      // A chunk that was altered on the way cannot be decompressed.
      if (!(error instanceof MalformedBytes)) throw error
    }
  }

  answerHonestly(peer: string, { id, stream, from }: WantMessage): void {
    const isOwn = Buffer.compare(stream.node, this.key.publicKey) === 0
    const chunk = isOwn ? this.#streams.get(stream.number)?.from(from) : undefined
    this.send(
      peer,
      chunk === undefined ? { is: 'nothing', id, reason: 'notHere' } : { is: 'chunk', id, more: false, chunk },
    )
  }

  send(peer: string, message: Message): void {
    this.sendBytes(peer, encodeMessage(message))
  }

  sendBlocks(peer: string, message: ExchangeMessage): void {
    this.sendBytes(peer, encodeExchangeMessage(message))
  }

  sendBytes(peer: string, bytes: Uint8Array): void {
    this.swarm.network.sendBytes(this.name, peer, bytes, 'hostile')
  }

  /** One of the captured chunks. */
  anyChunk(): Uint8Array | undefined {
    return this.chunks[this.random.below(this.chunks.length)]
  }

  /** The number of a peer among all nodes of the simulation. */
  peerNumber(peer: string): number {
    return this.swarm.nodes.findIndex(({ name }) => name === peer)
  }

  nextWant(): number {
    return this.#nextWant++
  }

  /** Asks for all heads: digests that differ everywhere. */
  #greeted(peer: string): void {
    const state = this.#peers.get(peer)
    if (state === undefined || this.#behaviour.isMute === true) return
    state.isReady = true
    this.send(peer, { is: 'buckets', digests: Buffer.alloc(256 * 8, 1) })
  }

  #keepHeads(peer: string, entries: readonly HeadEntry[]): void {
    for (const entry of entries) {
      keep(this.heads, entry, this.random)
      if (!this.#isActive || !this.random.chance(0.3)) continue
      const stream = entry.isFrozen
        ? entry.stream
        : ifWellFormed(() => heads.decode(fullHead(entry.head, simTopic)).stream)
      if (stream !== undefined) this.send(peer, { is: 'want', id: this.nextWant(), stream, from: 0, bytes: 1 })
    }
  }
}

/** What is captured may have been altered on the way. */
export function ifWellFormed<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof MalformedBytes) return undefined
    throw error
  }
}

function keep<T>(list: T[], value: T, random: Random): void {
  if (list.length < mostCaptured) list.push(value)
  else list[random.below(mostCaptured)] = value
}
