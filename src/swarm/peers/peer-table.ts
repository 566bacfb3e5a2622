import { limits } from '../../base/limits.ts'
import { PeerEntry } from './peer-entry.ts'

/** The known peers. The number of those without a session is bounded, initial peers aside. */
export class PeerTable {
  readonly #entries = new Map<string, PeerEntry>()

  get(peer: string): PeerEntry | undefined {
    return this.#entries.get(peer)
  }

  all(): Iterable<PeerEntry> {
    return this.#entries.values()
  }

  /** Adds a peer that is not known. The least valuable one is dropped when there are too many. */
  add(peer: string, now: number): PeerEntry {
    if (this.#entries.size >= limits.knownPeers) this.#dropOne()
    const entry = new PeerEntry(peer, now)
    this.#entries.set(peer, entry)
    return entry
  }

  /** Drops a peer of which nothing is known that helps to connect to it. */
  dropIfUseless(entry: PeerEntry): void {
    if (isDroppable(entry) && entry.addresses.isEmpty) this.#entries.delete(entry.peer)
  }

  #dropOne(): void {
    let droppable = 0
    let least: PeerEntry | undefined
    for (const entry of this.#entries.values()) {
      if (!isDroppable(entry)) continue
      droppable++
      if (least === undefined || isWorthLess(entry, least)) least = entry
    }
    if (droppable >= limits.knownPeers && least !== undefined) this.#entries.delete(least.peer)
  }
}

function isDroppable({ hasSession, dialling, addresses }: PeerEntry): boolean {
  return !hasSession && dialling === undefined && !addresses.isInitial
}

/** What others say about nodes that were never seen here is dropped first: it may be made up. */
function isWorthLess(a: PeerEntry, b: PeerEntry): boolean {
  const [worth, than] = [worthOf(a), worthOf(b)]
  return worth < than || (worth === than && a.usedAt < b.usedAt)
}

function worthOf({ wasConnected, addresses }: PeerEntry): number {
  return wasConnected ? 2 : addresses.isAnnounced ? 1 : 0
}
