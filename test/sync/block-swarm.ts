import assert from 'node:assert/strict'
import type { Random } from '../../scripts/crash/random.ts'
import { limits } from '../../src/base/limits.ts'
import type { Block } from '../../src/files/unixfs/index.ts'
import { MemoryBlockStore } from '../../src/store/memory/memory-block-store.ts'
import type { WantPlace } from '../../src/store/port/index.ts'
import { type BlockEffect, BlockExchange, decodeExchangeMessage, encodeExchangeMessage } from '../../src/sync/index.ts'

/** What goes wrong in a swarm. */
export interface Faults {
  /** The share of messages that are lost, delivered twice, or arrive much later. */
  readonly lost: number
  readonly doubled: number
  readonly delayed: number
}

const none: Faults = { lost: 0, doubled: 0, delayed: 0 }

/** Work in virtual time, ordered by time. */
class Timeline {
  readonly #entries: { readonly at: number; readonly work: () => void }[] = []
  now = 0

  after(ms: number, work: () => void): void {
    const at = this.now + ms
    let i = this.#entries.length
    while (i > 0 && (this.#entries[i - 1]?.at ?? 0) > at) i--
    this.#entries.splice(i, 0, { at, work })
  }

  /** Runs everything up to a time. */
  run(until: number): void {
    for (let next = this.#entries[0]; next !== undefined && next.at <= until; next = this.#entries[0]) {
      this.#entries.shift()
      this.now = next.at
      next.work()
    }
    this.now = until
  }

  /** Runs until a condition holds, which is checked every 100 ms, or up to a time. Returns whether it holds. */
  runUntil(isDone: () => boolean, until: number): boolean {
    while (!isDone()) {
      if (this.now >= until) return false
      this.run(Math.min(this.now + 100, until))
    }
    return true
  }
}

/** Nodes that exchange blocks over a network with faults, in virtual time. */
export class BlockSwarm {
  readonly nodes: readonly SwarmNode[]
  readonly timeline = new Timeline()
  readonly random: Random
  readonly closed: string[] = []
  faults: Faults = none
  /** Bytes of blocks on the network. */
  sentBytes = 0
  readonly #links = new Map<string, number>()
  readonly #lastDelivery = new Map<string, number>()

  constructor(random: Random, count: number) {
    this.random = random
    this.nodes = Array.from({ length: count }, (_, i) => new SwarmNode(this, String(i)))
  }

  connect(a: SwarmNode, b: SwarmNode): void {
    if (a === b || this.#links.has(linkOf(a, b))) return
    this.#links.set(linkOf(a, b), this.random.below(2 ** 31))
    a.apply(a.exchange.connected(b.name, this.timeline.now))
    b.apply(b.exchange.connected(a.name, this.timeline.now))
  }

  disconnect(a: SwarmNode, b: SwarmNode): void {
    if (!this.#links.delete(linkOf(a, b))) return
    a.apply(a.exchange.disconnected(b.name, this.timeline.now))
    b.apply(b.exchange.disconnected(a.name, this.timeline.now))
  }

  /** The connection of two nodes; a later one differs. */
  connection(a: SwarmNode, b: SwarmNode): number | undefined {
    return this.#links.get(linkOf(a, b))
  }

  node(name: string): SwarmNode {
    const found = this.nodes[Number(name)]
    assert.ok(found !== undefined)
    return found
  }

  /** Delivers bytes that were sent over the current connection, unless it breaks or they get lost. */
  send(from: SwarmNode, to: SwarmNode, bytes: Uint8Array): void {
    const connection = this.connection(from, to)
    const deliver = (): void => {
      if (connection === undefined || this.connection(from, to) !== connection) return
      to.apply(to.exchange.received(from.name, decodeExchangeMessage(bytes), this.timeline.now))
    }
    const { random, faults } = this
    if (random.chance(faults.lost)) return
    const { now } = this.timeline
    // In order, as a connection delivers them, unless a message is delayed.
    const direction = `${from.name} ${to.name}`
    const inOrder = Math.max(now + 1 + random.below(20), this.#lastDelivery.get(direction) ?? 0)
    this.#lastDelivery.set(direction, inOrder)
    const delay = random.chance(faults.delayed) ? random.below(20_000) : inOrder - now
    this.timeline.after(delay, deliver)
    if (random.chance(faults.doubled)) this.timeline.after(delay + random.below(100), deliver)
  }
}

function linkOf(a: SwarmNode, b: SwarmNode): string {
  return [a.name, b.name].sort().join(' ')
}

/** The host of one exchange of blocks, with a store in memory. */
export class SwarmNode {
  readonly name: string
  readonly exchange: BlockExchange
  readonly store = new MemoryBlockStore()
  /** Answers requests with wrong bytes. */
  isLiar = false
  hasRoom = true
  /** Bytes of blocks that wait to be sent, by peer. */
  readonly unsent = new Map<string, number>()
  readonly #swarm: BlockSwarm
  #place: WantPlace | undefined
  #wakeAt = Number.POSITIVE_INFINITY

  constructor(swarm: BlockSwarm, name: string) {
    this.#swarm = swarm
    this.name = name
    this.exchange = new BlockExchange({ timeoutMs: 5000, random: () => swarm.random.next() })
  }

  /** Stores the blocks of a file of this node. */
  upload(blocks: readonly Block[]): void {
    for (const { cid, bytes, links } of blocks) {
      this.store.put(
        cid.bytes,
        bytes,
        links.map((link) => link.cid.bytes),
      )
      this.apply(this.exchange.added(cid.bytes))
    }
  }

  /** Learns about an upload. */
  pin(root: Block, lamport: number): void {
    this.store.pin('upload', root.cid.bytes, { kind: 'upload', lamport })
    this.apply(this.exchange.wantsChanged(this.#swarm.timeline.now))
  }

  apply(effects: readonly BlockEffect[]): void {
    for (const effect of effects) this.#apply(effect)
    this.#checkLimits()
    const { timeline } = this.#swarm
    const at = this.exchange.wakeAt
    if (at >= this.#wakeAt && this.#wakeAt > timeline.now) return
    this.#wakeAt = at
    if (at === Number.POSITIVE_INFINITY) return
    timeline.after(Math.max(0, at - timeline.now), () => {
      if (this.#wakeAt !== at) return
      this.#wakeAt = Number.POSITIVE_INFINITY
      this.apply(this.exchange.tick(timeline.now))
    })
  }

  #apply(effect: BlockEffect): void {
    const { timeline, random } = this.#swarm
    switch (effect.do) {
      case 'send':
        this.#send(effect)
        break
      case 'close':
        this.#swarm.closed.push(`${this.name} closes ${effect.peer}: ${effect.reason}`)
        this.#swarm.disconnect(this, this.#swarm.node(effect.peer))
        break
      case 'listWants':
        timeline.after(random.below(5), () => {
          const found = this.store.wanted(limits.wantsPerList, effect.from === 'start' ? undefined : this.#place)
          this.#place = found.at(-1)?.place
          const { hasRoom } = this
          const list = { cids: found.map(({ cid }) => cid), isEnd: found.length < limits.wantsPerList, hasRoom }
          this.apply(this.exchange.listed(list, timeline.now))
        })
        break
      case 'readBlock':
        timeline.after(random.below(5), () => {
          const bytes = this.store.get(effect.cid)
          const read = bytes !== undefined && this.isLiar ? Buffer.concat([bytes, Buffer.of(0)]) : bytes
          this.apply(this.exchange.read(effect.peer, effect.cid, read))
        })
        break
      case 'storeBlock':
        timeline.after(random.below(5), () => {
          const { outcome, newWants } = this.hasRoom
            ? this.store.receive(effect.cid, effect.bytes, effect.isAsked)
            : ({ outcome: 'noRoom', newWants: [] } as const)
          this.apply(this.exchange.stored(effect, outcome, newWants, timeline.now))
        })
    }
  }

  #send({ to, message }: Extract<BlockEffect, { do: 'send' }>): void {
    const swarm = this.#swarm
    const peer = swarm.node(to)
    if (message.is === 'block') {
      const { length } = message.bytes
      swarm.sentBytes += length
      const connection = swarm.connection(this, peer)
      this.unsent.set(to, (this.unsent.get(to) ?? 0) + length)
      swarm.timeline.after(1 + swarm.random.below(10), () => {
        this.unsent.set(to, (this.unsent.get(to) ?? 0) - length)
        if (swarm.connection(this, peer) === connection) this.apply(this.exchange.sent(to, length))
      })
    }
    swarm.send(this, peer, Buffer.from(encodeExchangeMessage(message)))
  }

  #checkLimits(): void {
    assert.ok(this.exchange.inProgress <= limits.blockRequests)
    for (const bytes of this.unsent.values()) assert.ok(bytes <= limits.servedBlockBytesPerPeer)
  }
}
