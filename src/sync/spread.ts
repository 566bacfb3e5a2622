import { format } from '../base/format.ts'
import { limits } from '../base/limits.ts'
import { tuning } from '../base/tuning.ts'
import { type StreamKey, shortHead } from '../protocol/index.ts'
import { nameOfStream } from '../replication/index.ts'
import type { Effect } from './effects.ts'
import { type Forward, Forwards } from './forwards.ts'
import { sent, type TableRow } from './head-table.ts'
import type { BulkPush, HeadEntry, Message, Neighbours, Push, Records } from './messages.ts'
import { keyOfNode, nameOfNode, type Peer } from './peer.ts'
import { type SyncState, send } from './sync-state.ts'

/** Sends what is new to the peers, and sends on what they would not get otherwise. */
export class Spread {
  readonly #state: SyncState
  readonly #forwards: Forwards
  /** What is sent of a row: the same to many peers. */
  readonly #entries = new WeakMap<TableRow, HeadEntry>()
  /** When the peers are told about changed neighbours. */
  #tellAt = Number.POSITIVE_INFINITY

  constructor(state: SyncState) {
    this.#state = state
    this.#forwards = new Forwards(state.options.random)
  }

  get wakeAt(): number {
    return Math.min(this.#tellAt, this.#forwards.dueAt)
  }

  /**
   * Sends new own events to all peers. Many of them are sent only where they continue what a peer has or was sent; to
   * other peers only the head is, and they ask.
   * @param first the offset of the first one
   */
  appended(row: TableRow, first: number, chunk: Uint8Array | undefined): Effect[] {
    if (this.#state.isHidden(row.key)) return []
    const name = nameOfStream(row.key)
    // One message for all: it is encoded once.
    const push = pushOf(chunk)
    const effects: Effect[] = []
    for (const peer of this.#state.ready()) {
      if (peer.leavesOut(peer.isCongested)) continue
      const isContinued = first <= countAt(peer, row)
      const isPushed = push !== undefined && (push.is === 'push' || (peer.takesBulk && isContinued))
      if (isPushed && isContinued) peer.sentUpTo.set(name, row.count)
      effects.push(isPushed ? send(peer.name, push) : this.#headTo(peer, row))
    }
    return effects
  }

  /** Plans to send received events on, to the peers that do not get them from the origin or from the sender. */
  forward(row: TableRow, chunk: Uint8Array | undefined, sender: string, now: number): void {
    const stream = nameOfStream(row.key)
    for (const { name } of this.#others(row.key, sender))
      this.#forwards.add({ to: name, stream, count: row.count, chunk }, now)
  }

  /** Sends records to all peers, or those of another node on. */
  records(records: Records, sender?: string): Effect[] {
    const { stream } = records
    // An event that waits to be forwarded may have a payload that is removed now.
    this.#forwards.dropChunks(nameOfStream(stream))
    if (this.#state.isHidden(stream)) return []
    const peers = sender === undefined ? this.#state.ready() : this.#others(stream, sender)
    // They go over the sync channel.
    return toListening(
      [...peers].filter((peer) => !peer.leavesOut(!peer.takesComparisons)),
      { is: 'records', id: 0, ...records },
    )
  }

  /** Tells all peers that a stream is frozen: they ask for the evidence. */
  frozen(stream: StreamKey): Effect[] {
    if (this.#state.isHidden(stream)) return []
    const entries: HeadEntry[] = [{ isFrozen: true, stream }]
    return toListening(this.#state.ready(), { is: 'heads', entries, answer: [] })
  }

  /** All heads in some buckets, in as many messages as they need. */
  headsTo(peer: string, buckets: readonly number[], answer: readonly number[]): Effect[] {
    // Of own streams that may be longer elsewhere, others would only repeat what is here.
    const isTold = ({ key }: TableRow): boolean => !this.#state.isInDoubtOf(key) && !this.#state.isHidden(key)
    const rows = this.#state.table.in(new Set(buckets)).filter(isTold)
    const entries = rows.map((row) => this.#entry(row))
    const effects: Effect[] = []
    do {
      const part = entries.splice(0, limits.headsPerMessage)
      effects.push(send(peer, { is: 'heads', entries: part, answer: entries.length === 0 ? answer : [] }))
    } while (entries.length > 0)
    return effects
  }

  /** Tells all peers what is here of the own streams. */
  ownStreams(): Effect[] {
    const rows = [...this.#state.table.all()].filter(({ key }) => this.#state.isOwn(key))
    const entries = rows.slice(0, limits.headsPerMessage).map((row) => this.#entry(row))
    return entries.length === 0 ? [] : toListening(this.#state.ready(), { is: 'heads', entries, answer: [] })
  }

  /** What is here of the streams of a peer. */
  ownHeadsTo(peer: Peer): Effect[] {
    const { name } = peer
    if (peer.leavesOut(!peer.takesComparisons)) return []
    const rows = [...this.#state.table.all()].filter(({ key }) => nameOfNode(key.node) === name)
    const entries = rows.slice(0, format.streamsPerNode).map((row) => this.#entry(row))
    return [send(name, { is: 'own-heads', entries })]
  }

  /** A peer tells its neighbours, or which of them have changed. */
  neighbours(peer: Peer, { added, removed }: Neighbours): void {
    const { neighbours } = peer
    peer.areNeighboursKnown = true
    for (const node of removed) neighbours.delete(nameOfNode(node))
    for (const node of added) if (neighbours.size < limits.swarmNodes) neighbours.add(nameOfNode(node))
  }

  /** A peer has introduced itself. It is told all neighbours at once: until then it forwards nothing. */
  greeted(peer: Peer, now: number): Effect {
    this.neighboursChanged(now)
    return send(peer.name, this.#neighboursTo(peer, this.#ownNeighbours()))
  }

  /** Changes of the own neighbours are gathered: when a swarm starts, every node connects to all others at once. */
  neighboursChanged(now: number): void {
    this.#tellAt = Math.min(this.#tellAt, now + tuning.neighboursDelayMs)
  }

  tick(now: number): Effect[] {
    const effects = this.#forwards.take(now).flatMap((forward) => this.#send(forward))
    if (this.#tellAt <= now) effects.push(...this.#tellNeighbours())
    return effects
  }

  /** The peers that get news of a stream neither from its node nor from the sender. */
  *#others(stream: StreamKey, sender: string): Generator<Peer> {
    const origin = nameOfNode(stream.node)
    for (const peer of this.#state.ready()) {
      const { name, neighbours, areNeighboursKnown } = peer
      // Its digest comes after its neighbours, and is compared with what was stored until then.
      if (!areNeighboursKnown || name === sender || name === origin) continue
      if (!neighbours.has(sender) && !neighbours.has(origin)) yield peer
    }
  }

  #send({ to, stream, count, chunk }: Forward): Effect[] {
    const peer = this.#state.peers.get(to)
    const row = this.#state.table.get(stream)
    if (peer === undefined || row === undefined || row.frozen) return []
    if ((peer.claims.get(stream)?.count ?? 0) >= count || peer.leavesOut(peer.isCongested)) return []
    return [chunk !== undefined && row.count === count ? send(to, { is: 'push', chunk }) : this.#headTo(peer, row)]
  }

  #headTo({ name }: Peer, row: TableRow): Effect {
    return send(name, { is: 'heads', entries: [this.#entry(row)], answer: [] })
  }

  #entry(row: TableRow): HeadEntry {
    const known = this.#entries.get(row)
    if (known !== undefined) return known
    const { key, pruned, records, frozen, head } = row
    const entry: HeadEntry =
      frozen || head === undefined
        ? { isFrozen: true, stream: key }
        : { isFrozen: false, pruned, records: sent(records), head: shortHead(head, this.#state.options.topic) }
    this.#entries.set(row, entry)
    return entry
  }

  #tellNeighbours(): Effect[] {
    this.#tellAt = Number.POSITIVE_INFINITY
    const ready = this.#ownNeighbours()
    return [...this.#state.ready()].flatMap((peer) => {
      const message = this.#neighboursTo(peer, ready)
      return message.added.length + message.removed.length === 0 ? [] : [send(peer.name, message)]
    })
  }

  #ownNeighbours(): ReadonlyMap<string, Peer> {
    return new Map([...this.#state.ready()].slice(0, limits.swarmNodes).map((peer) => [peer.name, peer]))
  }

  /** What a peer was not told yet about the own neighbours. */
  #neighboursTo({ name, told }: Peer, ready: ReadonlyMap<string, Peer>): Neighbours {
    const added = [...ready.values()].filter((peer) => peer.name !== name && !told.has(peer.name))
    const removed = [...told].filter((node) => !ready.has(node))
    for (const peer of added) told.add(peer.name)
    for (const node of removed) told.delete(node)
    return { is: 'neighbours', added: added.map(({ key }) => key), removed: removed.map(keyOfNode) }
  }
}

/** The message with new events; undefined when they are too many for one. */
function pushOf(chunk: Uint8Array | undefined): Push | BulkPush | undefined {
  if (chunk === undefined || chunk.length > tuning.bulkPushBytes) return undefined
  return { is: chunk.length <= tuning.pushBytes ? 'push' : 'bulk-push', chunk }
}

/** How many events of an own stream a peer has or was sent. */
function countAt({ claims, stored, sentUpTo }: Peer, { key }: TableRow): number {
  const name = nameOfStream(key)
  return Math.max(claims.get(name)?.count ?? 0, stored.get(key.number) ?? 0, sentUpTo.get(name) ?? 0)
}

/** Sends news to those of some peers that take them. The next digest tells the others. */
function toListening(peers: Iterable<Peer>, message: Message): Effect[] {
  return [...peers].filter(({ isCongested }) => !isCongested).map(({ name }) => send(name, message))
}
