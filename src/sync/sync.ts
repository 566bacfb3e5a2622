import { limits } from '../base/limits.ts'
import { tuning } from '../base/tuning.ts'
import { fullHead, heads, MalformedBytes, shortHead, signedHeadOf } from '../protocol/index.ts'
import { nameOfStream, type StreamHead } from '../replication/index.ts'
import type { Effect } from './effects.ts'
import { type Forward, Forwards } from './forwards.ts'
import { HeadTable } from './head-table.ts'
import type { CloseReason, HeadEntry, HeadsMessage, Hello, Message, Want } from './messages.ts'
import { type Claim, Peer } from './peer.ts'

const protocolVersion = 1

export interface SyncOptions {
  readonly topic: string
  /** Milliseconds between two digests to a peer. */
  readonly gossipMs: number
  /** A random number from 0 to before 1. */
  readonly random: () => number
  /** The wall clock, in microseconds since the Unix epoch. */
  readonly wallClock: () => number
}

/** The outcome of storing a chunk. */
export type StoreOutcome =
  /** Events were added. */
  | 'stored'
  /** Nothing was added: known, or a gap. */
  | 'unchanged'
  /** No honest node would send it. */
  | 'refused'
  /** The store failed, which is not the fault of the peer. */
  | 'failed'

/**
 * What a node tells its peers of a topic and asks them for. A state machine: it is told what happens and when, and
 * returns what to do. It has no clock, timers, sockets or store. Times are milliseconds of a monotonic clock.
 */
export class Sync {
  readonly #options: SyncOptions
  readonly #table: HeadTable
  readonly #peers = new Map<string, Peer>()
  /** The streams that are being asked for or stored. */
  readonly #busy = new Set<string>()
  /** The streams of which a peer may have more. */
  readonly #behind = new Set<string>()
  readonly #forwards: Forwards
  #nextWant = 1
  #gossipAt: number
  /** When the peers are told about changed neighbours. */
  #tellAt = Number.POSITIVE_INFINITY

  constructor(options: SyncOptions, now: number) {
    this.#options = options
    this.#table = new HeadTable(options.topic)
    this.#forwards = new Forwards(options.random)
    this.#gossipAt = now + options.gossipMs
  }

  /** When `tick` has to be called next. */
  get wakeAt(): number {
    let at = Math.min(this.#gossipAt, this.#tellAt, this.#forwards.dueAt)
    for (const { isReady, helloBy, wants } of this.#peers.values()) {
      if (!isReady) at = Math.min(at, helloBy)
      for (const { deadline } of wants.values()) at = Math.min(at, deadline)
    }
    for (const name of this.#behind) for (const claim of this.#claims(name)) at = Math.min(at, claim.askFrom)
    return at
  }

  connected(peer: string, now: number): Effect[] {
    this.#peers.set(peer, new Peer(peer, now + limits.helloTimeoutMs))
    const { wallClock } = this.#options
    return [send(peer, { is: 'hello', version: protocolVersion, features: [], required: [], time: wallClock() })]
  }

  disconnected(name: string, now: number): Effect[] {
    const peer = this.#peers.get(name)
    if (peer === undefined) return []
    this.#peers.delete(name)
    for (const want of peer.wants.values()) this.#busy.delete(want.name)
    this.#tellFrom(now)
    return this.#ask(now)
  }

  /** The head of a stream in the store has changed. */
  changed(head: StreamHead): void {
    this.#table.set(head)
  }

  /** Own events were committed. */
  appended(head: StreamHead, chunk: Uint8Array): Effect[] {
    this.#table.set(head)
    return [...this.#ready()].map((peer) => this.#announce(peer.name, head, chunk))
  }

  /** A message of a peer has arrived. */
  received(name: string, message: Message, now: number): Effect[] {
    const peer = this.#peers.get(name)
    if (peer === undefined) return []
    try {
      return this.#handle(peer, message, now)
    } catch (error) {
      if (error instanceof MalformedBytes) return this.#close(peer, 'malformedMessage', now)
      throw error
    }
  }

  /** The chunk for a peer was read; undefined when there is none. */
  read(name: string, id: number, chunk: Uint8Array | undefined): Effect[] {
    const peer = this.#peers.get(name)
    // None is open when the peer has connected again since it asked.
    if (peer === undefined || peer.serving === 0) return []
    peer.serving--
    return [send(name, chunk === undefined ? { is: 'nothing', id } : { is: 'chunk', id, chunk })]
  }

  /** A chunk was given to the store. `head` is that of its stream now. */
  stored(
    { from, want, chunk }: Extract<Effect, { do: 'store' }>,
    outcome: StoreOutcome,
    head: StreamHead | undefined,
    now: number,
  ): Effect[] {
    if (head !== undefined) this.#table.set(head)
    const peer = this.#peers.get(from)
    const open = want === undefined ? undefined : peer?.wants.get(want)
    if (open !== undefined) {
      peer?.wants.delete(open.id)
      this.#busy.delete(open.name)
    }
    if (outcome === 'refused') return peer === undefined ? [] : this.#close(peer, 'badChunk', now)
    const name = head === undefined ? open?.name : nameOfStream(head.key)
    if (name !== undefined && outcome !== 'stored') this.#askLater(peer, name, now)
    if (head !== undefined && outcome === 'stored') this.#forward(head, chunk, from, now)
    if (name !== undefined) this.#behind.add(name)
    return this.#ask(now)
  }

  /** Time has passed. */
  tick(now: number): Effect[] {
    const effects: Effect[] = []
    for (const peer of [...this.#peers.values()])
      if (!peer.isReady && peer.helloBy <= now) effects.push(...this.#close(peer, 'silent', now))
    for (const peer of this.#peers.values())
      for (const want of [...peer.wants.values()])
        if (want.deadline <= now) {
          peer.wants.delete(want.id)
          this.#busy.delete(want.name)
          this.#askLater(peer, want.name, now)
        }
    for (const forward of this.#forwards.take(now)) effects.push(...this.#send(forward))
    if (this.#tellAt <= now) effects.push(...this.#tellNeighbours())
    if (this.#gossipAt <= now) {
      const { gossipMs, random } = this.#options
      this.#gossipAt = now + gossipMs * (0.75 + 0.5 * random())
      for (const { name } of this.#ready()) effects.push(this.#digestTo(name))
    }
    return [...effects, ...this.#ask(now)]
  }

  #handle(peer: Peer, message: Message, now: number): Effect[] {
    if (message.is === 'hello') return this.#greeted(peer, message, now)
    // What comes before the hello is of a peer that does not follow the protocol.
    if (!peer.isReady) return this.#close(peer, 'malformedMessage', now)
    switch (message.is) {
      case 'neighbours':
        for (const node of message.removed) peer.neighbours.delete(nameOf(node))
        for (const node of message.added)
          if (peer.neighbours.size < limits.swarmNodes) peer.neighbours.add(nameOf(node))
        return []
      case 'digest':
        if (Buffer.compare(message.digest, this.#table.digest()) === 0) return []
        return [send(peer.name, { is: 'buckets', digests: this.#table.buckets() })]
      case 'buckets': {
        const differing = this.#table.differing(message.digests)
        return differing.length === 0 ? [] : this.#headsTo(peer.name, differing, differing)
      }
      case 'heads':
        return this.#claimed(peer, message, now)
      case 'want':
        return this.#serve(peer, message, now)
      case 'chunk': {
        const want = peer.wants.get(message.id)
        // An answer to a request that has timed out is not an error.
        return want === undefined ? [] : [{ do: 'store', from: peer.name, want: message.id, chunk: message.chunk }]
      }
      case 'nothing':
        return this.#nothing(peer, message.id, now)
      case 'push':
        this.#claim(peer, { head: shortHead(signedHeadOf(message.chunk), this.#options.topic) }, now)
        return [{ do: 'store', from: peer.name, want: undefined, chunk: message.chunk }]
    }
  }

  #greeted(peer: Peer, { required }: Hello, now: number): Effect[] {
    if (required.length > 0) return this.#close(peer, 'unknownRequiredFeature', now)
    if (peer.isReady) return []
    peer.isReady = true
    this.#tellFrom(now)
    return [this.#digestTo(peer.name)]
  }

  #serve(peer: Peer, { id, stream, from }: Want, now: number): Effect[] {
    if (peer.serving >= limits.servedPerPeer) return this.#close(peer, 'tooManyRequests', now)
    peer.serving++
    return [{ do: 'read', peer: peer.name, id, stream, from }]
  }

  #nothing(peer: Peer, id: number, now: number): Effect[] {
    const want = peer.wants.get(id)
    if (want === undefined) return []
    peer.wants.delete(id)
    this.#busy.delete(want.name)
    this.#askLater(peer, want.name, now)
    return this.#ask(now)
  }

  #claimed(peer: Peer, { entries, answer }: HeadsMessage, now: number): Effect[] {
    for (const entry of entries) this.#claim(peer, entry, now)
    const answered = answer.length === 0 ? [] : this.#headsTo(peer.name, answer, [])
    return [...answered, ...this.#ask(now)]
  }

  #claim(peer: Peer, { pruned, head: short }: Partial<HeadEntry> & Pick<HeadEntry, 'head'>, now: number): void {
    const signed = fullHead(short, this.#options.topic)
    const { stream, count } = heads.decode(signed)
    const name = nameOfStream(stream)
    const before = peer.claims.get(name)
    peer.claims.set(name, { count, pruned: pruned ?? before?.pruned ?? 0, signed, isVerified: false, askFrom: now })
    if (count > this.#countOf(name)) this.#behind.add(name)
  }

  #countOf(name: string): number {
    return this.#table.get(name)?.count ?? 0
  }

  *#claims(name: string): Generator<Claim> {
    if (this.#busy.has(name)) return
    for (const { isReady, wants, claims } of this.#peers.values()) {
      const claim = claims.get(name)
      if (isReady && wants.size < tuning.wantsPerPeer && claim !== undefined && claim.count > this.#countOf(name))
        yield claim
    }
  }

  #askLater(peer: Peer | undefined, name: string, now: number): void {
    const claim = peer?.claims.get(name)
    if (claim !== undefined) claim.askFrom = now + limits.wantRetryMs
    this.#behind.add(name)
  }

  /** Asks peers for the streams of which they have more. */
  #ask(now: number): Effect[] {
    const effects: Effect[] = []
    for (const name of [...this.#behind]) {
      if (this.#busy.has(name)) continue
      const peer = this.#source(name, now)
      if (peer === undefined) {
        if (!this.#isBehind(name)) this.#behind.delete(name)
        continue
      }
      effects.push(...this.#askPeer(peer, name, now))
    }
    return effects
  }

  /** Whether any peer says that it has more of a stream. */
  #isBehind(name: string): boolean {
    const count = this.#countOf(name)
    return [...this.#peers.values()].some(({ claims }) => (claims.get(name)?.count ?? 0) > count)
  }

  /** The peer to ask for a stream: the one with the fewest open requests. */
  #source(name: string, now: number): Peer | undefined {
    const count = this.#countOf(name)
    let best: Peer | undefined
    for (const peer of this.#peers.values()) {
      const claim = peer.claims.get(name)
      if (!peer.isReady || claim === undefined || claim.count <= count || claim.askFrom > now) continue
      if (peer.wants.size >= tuning.wantsPerPeer) continue
      if (best === undefined || peer.wants.size < best.wants.size) best = peer
    }
    return best
  }

  #askPeer(peer: Peer, name: string, now: number): Effect[] {
    const claim = peer.claims.get(name) as Claim
    const { stream } = heads.decode(claim.signed)
    if (!claim.isVerified)
      try {
        heads.verify(claim.signed)
        claim.isVerified = true
      } catch (error) {
        if (!(error instanceof MalformedBytes)) throw error
        return this.#close(peer, 'badHead', now)
      }
    const id = this.#nextWant++
    peer.wants.set(id, { id, name, deadline: now + limits.wantTimeoutMs })
    this.#busy.add(name)
    return [send(peer.name, { is: 'want', id, stream, from: this.#countOf(name) })]
  }

  /** Plans to send new events on, to the peers that do not get them from the origin or from the sender. */
  #forward(head: StreamHead, chunk: Uint8Array, sender: string, now: number): void {
    const origin = nameOf(head.key.node)
    for (const { name, neighbours } of this.#ready()) {
      if (name === sender || name === origin || neighbours.has(sender) || neighbours.has(origin)) continue
      this.#forwards.add({ to: name, stream: nameOfStream(head.key), count: head.count, chunk }, now)
    }
  }

  #send({ to, stream, count, chunk }: Forward): Effect[] {
    const peer = this.#peers.get(to)
    const head = this.#table.get(stream)
    if (peer === undefined || head === undefined || (peer.claims.get(stream)?.count ?? 0) >= count) return []
    return [this.#announce(to, head, head.count === count ? chunk : undefined)]
  }

  /** Sends new events to a peer, or only their head when they are many. */
  #announce(to: string, head: StreamHead, chunk: Uint8Array | undefined): Effect {
    if (chunk !== undefined && chunk.length <= tuning.pushBytes) return send(to, { is: 'push', chunk })
    return send(to, { is: 'heads', entries: [this.#entry(head)], answer: [] })
  }

  /** All heads in some buckets, in as many messages as they need. */
  #headsTo(peer: string, buckets: readonly number[], answer: readonly number[]): Effect[] {
    const entries = this.#table.in(new Set(buckets)).map((head) => this.#entry(head))
    const effects: Effect[] = []
    do {
      const part = entries.splice(0, limits.headsPerMessage)
      effects.push(send(peer, { is: 'heads', entries: part, answer: entries.length === 0 ? answer : [] }))
    } while (entries.length > 0)
    return effects
  }

  #entry({ pruned, head }: StreamHead): HeadEntry {
    return { pruned, head: shortHead(head, this.#options.topic) }
  }

  #digestTo(peer: string): Effect {
    return send(peer, { is: 'digest', digest: this.#table.digest() })
  }

  /** Changes of the neighbours are gathered: when a swarm starts, every node connects to all others at once. */
  #tellFrom(now: number): void {
    this.#tellAt = Math.min(this.#tellAt, now + tuning.neighboursDelayMs)
  }

  #tellNeighbours(): Effect[] {
    this.#tellAt = Number.POSITIVE_INFINITY
    const ready = new Set([...this.#ready()].slice(0, limits.swarmNodes).map(({ name }) => name))
    const effects: Effect[] = []
    for (const { name, told } of this.#ready()) {
      const added = [...ready].filter((node) => node !== name && !told.has(node))
      const removed = [...told].filter((node) => !ready.has(node))
      if (added.length + removed.length === 0) continue
      for (const node of added) told.add(node)
      for (const node of removed) told.delete(node)
      effects.push(send(name, { is: 'neighbours', added: added.map(keyOf), removed: removed.map(keyOf) }))
    }
    return effects
  }

  *#ready(): Generator<Peer> {
    for (const peer of this.#peers.values()) if (peer.isReady) yield peer
  }

  #close(peer: Peer, reason: CloseReason, now: number): Effect[] {
    return [{ do: 'close', peer: peer.name, reason }, ...this.disconnected(peer.name, now)]
  }
}

function send(to: string, message: Message): Effect {
  return { do: 'send', to, message }
}

/** The name of a node: its public key as latin1. */
function nameOf(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1')
}

function keyOf(name: string): Buffer {
  return Buffer.from(name, 'latin1')
}
