import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import { parseTcpAddress, type TcpAddress } from './address.ts'
import { type Introduction, Introductions } from './introductions.ts'
import { KeptOut } from './kept-out.ts'
import type { AddressSource, KnownPeer } from './known-peer.ts'
import type { PeerEntry, SessionStart } from './peer-entry.ts'
import { PeerTable } from './peer-table.ts'

export interface DiallerOptions {
  /** The public key of this node as latin1, like all names of peers. */
  readonly self: string
  /** A random number from 0 to before 1. */
  readonly random: () => number
}

/** A connection to make. */
export interface Dial {
  readonly peer: string
  /** A multiaddr without peer ID. */
  readonly address: string
}

/**
 * Which peers are dialled when, and at which of their addresses. A state machine: it is told what happens and when, and
 * has no clock, timers or sockets. Times are milliseconds of a monotonic clock.
 */
export class Dialler {
  readonly #options: DiallerOptions
  readonly #peers = new PeerTable()
  readonly #keptOut = new KeptOut()
  readonly #introductions = new Introductions()
  #initial: readonly Dial[] = []
  #ownAddresses: ReadonlySet<string> = new Set()
  #ownHosts: ReadonlySet<string> = new Set()
  /** Addresses at which this node itself has answered. */
  readonly #answeredHere = new Set<string>()
  #dialling = 0
  /** The last time that is known. */
  #now: number

  constructor(options: DiallerOptions, now: number) {
    this.#options = options
    this.#now = now
  }

  /** The addresses of the settings, instead of the earlier ones. They are dialled at once, whichever ID is higher. */
  setInitialPeers(peers: readonly Dial[], now: number): void {
    for (const { peer, address } of this.#initial)
      if (!peers.some((other) => other.peer === peer && other.address === address))
        this.expired(peer, [address], 'initial')
    this.#initial = peers.filter(({ peer }) => peer !== this.#options.self)
    for (const { peer, address } of this.#initial) this.learned(peer, [address], 'initial', now)
  }

  /** Where this node listens: it is not dialled there. */
  setOwnAddresses(addresses: readonly string[]): void {
    const parsed = parseAll(addresses)
    this.#ownAddresses = new Set(parsed.map(({ text }) => text))
    this.#ownHosts = new Set(parsed.map(({ host }) => host))
  }

  /** Addresses of a peer, without peer ID; `from` is the peer that has introduced it. */
  learned(peer: string, addresses: readonly string[], source: AddressSource, now: number, from?: string): void {
    if (peer === this.#options.self) return
    const parsed = parseAll(addresses)
    const isLocal = this.#mayBeLocal(peer, parsed, source, from)
    const usable = parsed.filter(({ reach }) => isLocal || reach !== 'local').filter((at) => isMeant(at, source))
    const known = this.#peers.get(peer)
    if (usable.length === 0 && known === undefined) return
    const entry = known ?? this.#peers.add(peer, now)
    entry.usedAt = now
    if (source === 'identify') entry.addresses.replace(usable, source, now)
    else for (const address of usable) entry.addresses.add(address, source, now)
    if (entry.isConnected && source !== 'introduced') this.#introductions.changed(now)
  }

  /** A connected peer names addresses: of another node, or its own ones, which have changed. */
  told(from: string, node: string, addresses: readonly string[], now: number): void {
    this.learned(node, addresses, node === from ? 'identify' : 'introduced', now, from)
  }

  /** A source does not name these addresses of a peer any more. */
  expired(peer: string, addresses: readonly string[], source: AddressSource): void {
    const entry = this.#peers.get(peer)
    if (entry === undefined) return
    entry.addresses.remove(addresses, source)
    this.#peers.dropIfUseless(entry)
  }

  /** The connections to make now. Each of them ends with `connected` or `dialFailed`. */
  due(now: number): readonly Dial[] {
    this.#now = now
    const dials: Dial[] = []
    while (this.#dialling < limits.dialsAtOnce) {
      const entry = this.#pick(now)
      const address = entry?.addresses.next(now, this.#isOwn, this.#options.random)
      if (entry === undefined || address === undefined) break
      assert(entry.peer !== this.#options.self, 'a node does not dial itself')
      entry.dialling = address
      this.#dialling++
      dials.push({ peer: entry.peer, address })
    }
    return dials
  }

  /**
   * A dial has failed. When another node has this address, a source has to name the address again; all other failures
   * may be over later. `answeredBy` is the node that was found there instead, maybe this one. Returns whether the
   * operator should know: a peer of the settings has failed for the first time since it was connected.
   */
  dialFailed(
    peer: string,
    address: string,
    reason: string,
    isAnotherNode: boolean,
    now: number,
    answeredBy?: string,
  ): boolean {
    this.#now = now
    const entry = this.#dialEnded(peer)
    entry.note({ address, at: now, reason })
    if (isAnotherNode) entry.addresses.refused(address, now)
    else entry.addresses.failed(address, now, this.#options.random)
    if (answeredBy === this.#options.self) this.#addOwn(address)
    else if (answeredBy !== undefined) this.learned(answeredBy, [address], 'dialled', now)
    this.#peers.dropIfUseless(entry)
    return entry.addresses.isInitial && entry.isFirstFailure()
  }

  /**
   * A connection to a peer was made. Returns the sessions of the peer to close: the other node closes the same ones.
   */
  connected(peer: string, session: SessionStart, now: number): readonly number[] {
    assert(peer !== this.#options.self, 'a node does not connect to itself')
    const known = this.#peers.get(peer)
    if (session.direction === 'outbound' && known?.dialling !== undefined) this.#dialEnded(peer)
    const entry = known ?? this.#peers.add(peer, now)
    const isFirst = !entry.isConnected
    const closed = entry.connected(session, this.#isHigherThan(peer), now)
    if (isFirst) this.#introductions.connected(peer, now)
    return closed === undefined ? [] : [closed]
  }

  disconnected(peer: string, session: number, reason: string, now: number): void {
    const entry = this.#peers.get(peer)
    if (entry?.disconnected(session, reason, now, this.#options.random) !== true) return
    this.#introductions.disconnected(peer, now)
    this.#peers.dropIfUseless(entry)
  }

  isConnected(peer: string): boolean {
    return this.#peers.get(peer)?.isConnected === true
  }

  /** Keeps a peer out that has exceeded a budget or sent what no honest node sends: each time for longer. Returns the milliseconds. */
  keepOut(peer: string, now: number): number {
    this.#now = now
    return this.#keptOut.add(peer, now)
  }

  isKeptOut(peer: string, now: number): boolean {
    return this.#keptOut.is(peer, now)
  }

  /**
   * What to tell connected peers about others to which they have no connection. `areConnected` says whether a peer is
   * known to be connected to another one.
   */
  introductions(now: number, areConnected: (peer: string, other: string) => boolean): readonly Introduction[] {
    if (this.#introductions.dueAt > now) return []
    const connected = [...this.#peers.all()].filter(({ isConnected }) => isConnected)
    const peers = connected.map((entry) => ({
      peer: entry.peer,
      isOnThisMachine: entry.isOnThisMachine(this.#ownHosts),
      offered: (isOnThisMachine: boolean) => entry.addresses.offered(isOnThisMachine),
    }))
    return this.#introductions.take(peers, areConnected, now)
  }

  /** When `due` or `introductions` may have something. */
  get wakeAt(): number | undefined {
    let at = this.#introductions.dueAt
    if (this.#dialling < limits.dialsAtOnce)
      for (const entry of this.#peers.all()) at = Math.min(at, this.#dueAt(entry))
    return at === Number.POSITIVE_INFINITY ? undefined : at
  }

  /** For the operator. */
  snapshot(): readonly KnownPeer[] {
    const now = this.#now
    return [...this.#peers.all()].map((entry) => {
      const { peer, addresses, failures, sessions } = entry
      const keptOutUntil = this.isKeptOut(peer, now) ? this.#keptOut.until(peer) : undefined
      return {
        peer,
        state: this.#stateOf(entry, now),
        isInitial: addresses.isInitial,
        addresses: addresses.list(),
        failures: [...failures],
        sessions,
        keptOutUntil,
      }
    })
  }

  #stateOf(entry: PeerEntry, now: number): KnownPeer['state'] {
    if (entry.isConnected) return 'connected'
    if (entry.dialling !== undefined) return 'dialling'
    if (this.isKeptOut(entry.peer, now)) return 'kept out'
    return this.#dueAt(entry) === Number.POSITIVE_INFINITY ? 'idle' : 'waiting'
  }

  readonly #isOwn = (address: string): boolean => this.#ownAddresses.has(address) || this.#answeredHere.has(address)

  #isHigherThan(peer: string): boolean {
    // The names have one character per byte, so they compare like the keys.
    return this.#options.self > peer
  }

  /** When a peer is to be dialled; never when it is connected or being dialled. */
  #dueAt(entry: PeerEntry): number {
    if (entry.isConnected || entry.dialling !== undefined) return Number.POSITIVE_INFINITY
    const { peer, addresses, aloneSince, pausedUntil } = entry
    const isFirst = this.#isHigherThan(peer) || addresses.isInitial
    const mayDialFrom = isFirst ? aloneSince : aloneSince + limits.lowerDialsAfterMs
    return Math.max(mayDialFrom, pausedUntil, this.#keptOut.until(peer) ?? 0, addresses.dueAt(this.#isOwn))
  }

  /** Mostly one of the best, in random order; sometimes the one that waits longest, so that none waits for ever. */
  #pick(now: number): PeerEntry | undefined {
    const { random } = this.#options
    const isLongest = random() < 0.25
    let best: PeerEntry | undefined
    let bestRank = Number.POSITIVE_INFINITY
    for (const entry of this.#peers.all()) {
      const dueAt = this.#dueAt(entry)
      if (dueAt > now) continue
      const rank = isLongest ? dueAt : rankOf(entry) + random()
      if (rank < bestRank) [best, bestRank] = [entry, rank]
    }
    return best
  }

  #dialEnded(peer: string): PeerEntry {
    const entry = this.#peers.get(peer)
    assert(entry?.dialling !== undefined, 'a dial that ends was begun')
    entry.dialling = undefined
    this.#dialling--
    return entry
  }

  #addOwn(address: string): void {
    if (this.#answeredHere.size >= limits.addressesPerNode) this.#answeredHere.clear()
    this.#answeredHere.add(parseTcpAddress(address)?.text ?? address)
  }

  /** Whether local addresses of a peer are those of this machine. */
  #mayBeLocal(peer: string, addresses: readonly TcpAddress[], source: AddressSource, from?: string): boolean {
    if (source === 'initial' || source === 'dialled') return true
    const isHere = (name: string): boolean => this.#peers.get(name)?.isOnThisMachine(this.#ownHosts) === true
    if (source === 'identify') return isHere(peer)
    if (source === 'introduced') return from !== undefined && isHere(from)
    // Two machines do not share an address, so an announced one that is also ours is of this machine.
    return source === 'mdns' && addresses.some(({ host, reach }) => reach !== 'local' && this.#ownHosts.has(host))
  }
}

/** The lower, the sooner it is dialled. */
function rankOf({ addresses, wasConnected }: PeerEntry): number {
  if (!addresses.isFresh) return 3
  if (addresses.isInitial) return 0
  return wasConnected || addresses.isAnnounced ? 1 : 2
}

/** Addresses on a link mean something else elsewhere, so they are not taken from others. */
function isMeant({ reach }: TcpAddress, source: AddressSource): boolean {
  return reach !== 'link' || (source !== 'introduced' && source !== 'event')
}

function parseAll(addresses: readonly string[]): TcpAddress[] {
  // What is read costs time, also when it is not kept.
  return addresses.slice(0, limits.addressesPerNode).flatMap((text) => parseTcpAddress(text) ?? [])
}
