import { limits } from '../../base/limits.ts'
import { parseTcpAddress, type TcpAddress } from './address.ts'
import { backOffMs } from './back-off.ts'
import type { AddressSource, KnownAddress } from './known-peer.ts'

interface Entry {
  readonly address: TcpAddress
  readonly sources: Set<AddressSource>
  readonly since: number
  /** When a source has named it last. */
  seenAt: number
  failures: number
  connectedAt: number | undefined
  notBefore: number
  /** Whether it does not belong to the peer: it is not dialled until a source names it again. */
  isRefused: boolean
}

/** How much a source is worth, the least first: what a node says itself counts more than what others say. */
const byWorth: readonly AddressSource[] = ['introduced', 'event', 'identify', 'mdns', 'dialled', 'initial']

/** The addresses of one peer: a bounded number, initial ones aside. */
export class KnownAddresses {
  readonly #entries = new Map<string, Entry>()
  #isInitial = false
  #isAnnounced = false
  #isFresh = true

  /** Whether one of them is in the settings. */
  get isInitial(): boolean {
    return this.#isInitial
  }

  /** Whether one of them was announced by mDNS. */
  get isAnnounced(): boolean {
    return this.#isAnnounced
  }

  /** Whether none of them has failed since the last connection. */
  get isFresh(): boolean {
    return this.#isFresh
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0
  }

  add(address: TcpAddress, source: AddressSource, now: number): void {
    const entry = this.#entries.get(address.text) ?? this.#create(address, now)
    if (entry.isRefused && now < entry.notBefore && source !== 'initial') return
    // A node that was away for long and is announced again can probably be reached now.
    const isBack = source === 'mdns' && now - entry.seenAt > limits.announcedAgainMs
    if (isBack || (source === 'initial' && !entry.sources.has(source))) {
      entry.failures = 0
      entry.notBefore = now
    }
    entry.isRefused = false
    entry.seenAt = now
    entry.sources.add(source)
    this.#bound()
    this.#changed()
  }

  /** A source does not name these addresses any more. */
  remove(texts: Iterable<string>, source: AddressSource): void {
    for (const text of texts) {
      const entry = this.#entries.get(parseTcpAddress(text)?.text ?? text)
      entry?.sources.delete(source)
      // That it worked once is no reason to keep it.
      if (entry !== undefined && [...entry.sources].every((left) => left === 'dialled'))
        this.#entries.delete(entry.address.text)
    }
    this.#changed()
  }

  /** A source names exactly these addresses now. */
  replace(addresses: readonly TcpAddress[], source: AddressSource, now: number): void {
    const texts = new Set(addresses.map(({ text }) => text))
    const gone = [...this.#entries].filter(([text, { sources }]) => sources.has(source) && !texts.has(text))
    this.remove(
      gone.map(([text]) => text),
      source,
    )
    for (const address of addresses) this.add(address, source, now)
  }

  failed(text: string, now: number, random: () => number): void {
    const entry = this.#entries.get(parseTcpAddress(text)?.text ?? '')
    if (entry === undefined) return
    entry.failures++
    entry.notBefore = now + backOffMs(entry.failures, random)
    this.#changed()
  }

  /** Another node has this address. An initial one is kept: the settings have to be changed, or the network. */
  refused(text: string, now: number): void {
    const entry = this.#entries.get(parseTcpAddress(text)?.text ?? '')
    if (entry === undefined) return
    entry.failures++
    entry.connectedAt = undefined
    entry.notBefore = now + limits.maxRedialMs
    entry.isRefused = !entry.sources.has('initial')
    this.#changed()
  }

  /** A dial has worked. */
  connected(text: string, now: number): void {
    const address = parseTcpAddress(text)
    if (address === undefined) return
    const entry = this.#entries.get(address.text) ?? this.#create(address, now)
    entry.sources.add('dialled')
    entry.isRefused = false
    entry.seenAt = now
    entry.connectedAt = now
    entry.failures = 0
    entry.notBefore = now
    this.#bound()
    this.#changed()
  }

  /** A connection that has worked has ended: the back-off starts anew. */
  reset(now: number): void {
    for (const entry of this.#entries.values()) {
      if (entry.isRefused) continue
      entry.failures = 0
      entry.notBefore = now
    }
    this.#changed()
  }

  /** When the first address may be dialled. */
  dueAt(isOwn: (text: string) => boolean): number {
    let at = Number.POSITIVE_INFINITY
    for (const entry of this.#entries.values()) if (isDialable(entry, isOwn)) at = Math.min(at, entry.notBefore)
    return at
  }

  /** The next address to dial: the last that worked, then those with few failures, in random order. */
  next(now: number, isOwn: (text: string) => boolean, random: () => number): string | undefined {
    let best: Entry | undefined
    let bestRank: readonly number[] = []
    for (const entry of this.#entries.values()) {
      if (entry.notBefore > now || !isDialable(entry, isOwn)) continue
      const rank = [-(entry.connectedAt ?? Number.NEGATIVE_INFINITY), entry.failures, random()]
      if (best === undefined || isBefore(rank, bestRank)) [best, bestRank] = [entry, rank]
    }
    return best?.address.text
  }

  /** Those at which others may reach the peer: what it says itself, and what has worked here. */
  *offered(withLocal: boolean): Generator<string> {
    for (const { address, sources, isRefused } of this.#entries.values()) {
      if (isRefused || address.reach === 'link' || (address.reach === 'local' && !withLocal)) continue
      if (sources.has('identify') || sources.has('mdns') || sources.has('dialled')) yield address.text
    }
  }

  list(): KnownAddress[] {
    return [...this.#entries.values()]
      .filter(({ isRefused }) => !isRefused)
      .map(({ address, sources, since, failures, connectedAt, notBefore }) => {
        return { address: address.text, sources: [...sources], since, failures, connectedAt, notBefore }
      })
  }

  #create(address: TcpAddress, now: number): Entry {
    const entry: Entry = {
      address,
      sources: new Set(),
      since: now,
      seenAt: now,
      failures: 0,
      connectedAt: undefined,
      notBefore: now,
      isRefused: false,
    }
    this.#entries.set(address.text, entry)
    return entry
  }

  /** What is asked for all peers at once is computed when it changes. */
  #changed(): void {
    this.#isInitial = this.#isAnnounced = false
    this.#isFresh = true
    for (const { sources, failures } of this.#entries.values()) {
      if (sources.has('initial')) this.#isInitial = true
      if (sources.has('mdns')) this.#isAnnounced = true
      if (failures > 0) this.#isFresh = false
    }
  }

  /** Drops the least valuable addresses beyond the limit. */
  #bound(): void {
    const others = [...this.#entries.values()].filter(({ sources }) => !sources.has('initial'))
    if (others.length <= limits.addressesPerNode) return
    others.sort((a, b) => worthOf(a) - worthOf(b) || b.failures - a.failures || a.seenAt - b.seenAt)
    for (const { address } of others.slice(0, others.length - limits.addressesPerNode))
      this.#entries.delete(address.text)
  }
}

function worthOf({ sources, isRefused }: Entry): number {
  return isRefused ? -1 : Math.max(...[...sources].map((source) => byWorth.indexOf(source)))
}

function isDialable({ address, isRefused }: Entry, isOwn: (text: string) => boolean): boolean {
  return !isRefused && !isOwn(address.text)
}

function isBefore(a: readonly number[], b: readonly number[]): boolean {
  for (const [i, value] of a.entries()) if (value !== b[i]) return value < (b[i] ?? 0)
  return false
}
