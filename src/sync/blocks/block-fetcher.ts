import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import type { BlockEffect, BlockOutcome, StoreBlock } from './block-effects.ts'
import { type BlockKey, type BlockPeer, keyOfCid, secondSourceAt } from './block-peer.ts'
import { bestSource, isDoubtful } from './block-sources.ts'
import { WantScan } from './want-scan.ts'
import { isInProgress, type Want, Wants } from './wants.ts'

export interface FetcherOptions {
  /** Milliseconds without an answer after which another peer is asked. */
  readonly timeoutMs: number
  /** A random number from 0 to before 1. */
  readonly random: () => number
}

/** A list of wanted blocks, as the store gives it. */
export interface WantList {
  readonly cids: readonly Uint8Array[]
  /** Whether there are no more after them. */
  readonly isEnd: boolean
  /** Whether there is room for blocks on the disk. */
  readonly hasRoom: boolean
}

/** Decides which blocks to ask for, and from whom: from one peer, and from a second one if the first lets it wait. */
export class BlockFetcher {
  readonly #options: FetcherOptions
  readonly #peers: ReadonlyMap<string, BlockPeer>
  readonly #wants = new Wants()
  readonly #scan = new WantScan()
  /** Whether the store has no room or has failed: nothing is asked for until it can list wants again. */
  #isStopped = false
  /** Whether nothing was stored since then: blocks are asked for one by one. */
  #isProbing = false
  /** When a block that a download waits for may be asked for again. */
  #retryAt = Number.POSITIVE_INFINITY

  constructor(options: FetcherOptions, peers: ReadonlyMap<string, BlockPeer>) {
    this.#options = options
    this.#peers = peers
  }

  /** Number of blocks that are asked for, or are being stored. */
  get inProgress(): number {
    return this.#wants.inProgress
  }

  get wakeAt(): number {
    if (this.#peers.size === 0) return Number.POSITIVE_INFINITY
    let at = Math.min(this.#scan.dueAt, this.#retryAt)
    for (const peer of this.#peers.values())
      for (const request of peer.open.values()) {
        at = Math.min(at, this.#deadline(peer, request.askedAt))
        if (!request.isSecondTried) at = Math.min(at, secondSourceAt(peer, request))
      }
    return at
  }

  /** There may be new wanted blocks, or new peers to ask. */
  scanSoon(now: number): void {
    this.#scan.soon(now)
  }

  /** A download waits for a block. What peers said before about it is forgotten. */
  ask(cid: Uint8Array): void {
    this.#wants.ask(cid)
    for (const { lacks } of this.#peers.values()) lacks.delete(keyOfCid(cid))
  }

  /** No download waits for a block any more. */
  unask(cid: Uint8Array): BlockEffect[] {
    const key = keyOfCid(cid)
    return this.#wants.unask(key).map((peer) => this.#cancel(peer, key, cid))
  }

  /** The store has listed wanted blocks. */
  listed({ cids, isEnd, hasRoom }: WantList, now: number): BlockEffect[] {
    const from = this.#scan.listed(isEnd, cids.length === 0, now)
    if (!hasRoom) return this.#stop(now)
    this.#isStopped = false
    if (from === 'start') this.#wants.restart()
    for (const cid of cids) this.#wants.add(cid)
    return []
  }

  /** A block has arrived from a peer. One that is not wanted is ignored; many that were not asked for end the session. */
  block(peer: BlockPeer, cid: Uint8Array, bytes: Uint8Array, now: number): BlockEffect[] {
    const key = keyOfCid(cid)
    if (!peer.sent(key, now))
      return peer.unasked > limits.unaskedBlocks ? [{ do: 'close', peer: peer.name, reason: 'unaskedBlocks' }] : []
    const want = this.#wants.get(key)
    // An answer after the time-out is still of use, unless the block is being stored or too many are.
    if (want === undefined || want.isStoring || !this.#wants.canStore(want)) return []
    const others = [...want.peers].filter((name) => name !== peer.name)
    this.#wants.storing(want)
    const store = { do: 'storeBlock', from: peer.name, cid, bytes, isAsked: this.#wants.isAsked(key) } as const
    return [store, ...others.map((name) => this.#cancel(name, key, cid))]
  }

  /** A received block was given to the store. `newWants` are blocks that are wanted because of it. */
  stored({ cid }: StoreBlock, outcome: BlockOutcome, newWants: readonly Uint8Array[], now: number): BlockEffect[] {
    const key = keyOfCid(cid)
    const want = this.#wants.get(key)
    if (want !== undefined) this.#wants.release(want)
    if (outcome === 'noRoom' || outcome === 'failed') return this.#stop(now)
    if (outcome === 'wrong') return []
    this.#wants.delete(key)
    // A peer that gets it later need not be asked.
    for (const peer of this.#peers.values()) peer.settle(key)
    if (outcome === 'stored') {
      this.#isProbing = false
      this.#scan.progress()
    }
    // The store lists those that do not fit now.
    for (const child of newWants) if (!this.#wants.add(child)) this.#scan.soon(now)
    return []
  }

  /** A peer does not have blocks that it was asked for. */
  notHere(peer: BlockPeer, cids: readonly Uint8Array[], now: number): void {
    for (const cid of cids) {
      const key = keyOfCid(cid)
      if (!peer.open.delete(key)) continue
      peer.answered(now)
      peer.has.delete(key)
      peer.lacks.set(key, now + limits.blockNotHereMs)
      this.#releaseFrom(peer.name, key)
    }
  }

  /** A peer has blocks now that it did not have when it was asked. Others are ignored. */
  have(peer: BlockPeer, cids: readonly Uint8Array[], now: number): void {
    for (const cid of cids) {
      const key = keyOfCid(cid)
      if (!peer.lacks.delete(key)) continue
      peer.has.set(key, true)
      if (!this.#wants.add(cid)) this.#scan.soon(now)
    }
  }

  /** A peer is gone. */
  forget(peer: BlockPeer): void {
    for (const key of peer.open.keys()) this.#releaseFrom(peer.name, key)
  }

  /** Withdraws requests without an answer, and pauses the peers that did not give one. */
  expire(now: number): BlockEffect[] {
    const effects: BlockEffect[] = []
    for (const peer of this.#peers.values()) {
      const late: Uint8Array[] = []
      let isSilent = false
      for (const [key, { cid, askedAt, answers }] of peer.open) {
        const isLate = this.#deadline(peer, askedAt) <= now
        const isOvertaken = peer.answers - answers >= limits.overtakenBlockRequests
        if (!isLate && !isOvertaken) continue
        peer.withdraw(key)
        this.#releaseFrom(peer.name, key)
        if (isLate) isSilent = true
        else peer.lacks.set(key, now + limits.blockNotHereMs)
        late.push(cid)
      }
      if (late.length > 0) effects.push(cancel(peer.name, late))
      if (!isSilent) continue
      peer.pause(now)
      this.#scan.at(peer.pausedUntil)
    }
    return effects
  }

  /** Asks peers for wanted blocks, and the store for more of them. */
  request(now: number): BlockEffect[] {
    if (this.#peers.size === 0) return []
    const requests = this.#isStopped ? [] : [...this.#assign(now), ...this.#askSecond(now)]
    this.#retryAt = this.#isStopped ? Number.POSITIVE_INFINITY : this.#nextRetry(now)
    const from = this.#scan.next(this.#isStopped ? Number.POSITIVE_INFINITY : this.#wants.waiting, now)
    return from === undefined ? requests : [...requests, { do: 'listWants', from }]
  }

  #assign(now: number): BlockEffect[] {
    const asks = new Map<string, Uint8Array[]>()
    const free = new Set([...this.#peers.values()].filter((peer) => peer.capacity(now) > 0))
    const most = this.#isProbing ? 1 : limits.blockRequests
    for (const want of this.#wants.inOrder()) {
      if (this.#wants.inProgress >= most || free.size === 0) break
      if (isInProgress(want)) continue
      const peer = bestSource(free, want.key, now, this.#options.random)
      if (peer === undefined) {
        if (!this.#mayArrive(want, now)) this.#wants.drop(want)
        continue
      }
      this.#ask(peer, want, asks, now)
      if (peer.capacity(now) <= 0) free.delete(peer)
    }
    assert(this.#wants.inProgress <= limits.blockRequests, 'requests for blocks are within their limit')
    return requestsOf(asks)
  }

  /** Asks a second peer for blocks that a first one lets wait. The first answer counts. */
  #askSecond(now: number): BlockEffect[] {
    const asks = new Map<string, Uint8Array[]>()
    const peers = [...this.#peers.values()]
    let room = limits.blockRequests - peers.reduce((sum, { open }) => sum + open.size, 0)
    for (const first of peers) {
      let asked = 0
      for (const [key, request] of first.open) {
        if (secondSourceAt(first, request) > now) continue
        request.isSecondTried = true
        const want = this.#wants.get(key)
        if (want !== undefined && want.peers.size > 1) asked++
        // A link that is only slow would carry everything twice.
        if (want === undefined || want.peers.size > 1 || room <= 0 || asked >= limits.secondBlockSources) continue
        const free = peers.filter((peer) => peer !== first && peer.capacity(now) > 0 && !isDoubtful(peer, now))
        const second = bestSource(free, key, now, this.#options.random)
        if (second === undefined) continue
        this.#ask(second, want, asks, now)
        asked++
        room--
      }
    }
    return requestsOf(asks)
  }

  #ask(peer: BlockPeer, want: Want, asks: Map<string, Uint8Array[]>, now: number): void {
    peer.ask(want.key, want.cid, now)
    this.#wants.request(want, peer.name)
    const cids = asks.get(peer.name) ?? []
    cids.push(want.cid)
    asks.set(peer.name, cids)
  }

  /** Whether any peer that answers may have a block. Others are asked after the next scan. */
  #mayArrive({ key }: Want, now: number): boolean {
    for (const peer of this.#peers.values()) if (peer.pausedUntil <= now && peer.mayHave(key, now)) return true
    return false
  }

  /** When a peer that lacks a block that a download waits for, or that is paused, may be asked again. */
  #nextRetry(now: number): number {
    let at = Number.POSITIVE_INFINITY
    for (const want of this.#wants.asked()) {
      if (isInProgress(want)) continue
      const { key } = want
      for (const { lacks, pausedUntil } of this.#peers.values()) {
        const later = Math.max(lacks.get(key) ?? now, pausedUntil)
        if (later > now) at = Math.min(at, later)
      }
    }
    return at
  }

  /** A slow peer that answers one request after the other is not late. */
  #deadline({ answeredAt }: BlockPeer, askedAt: number): number {
    return Math.max(askedAt, answeredAt) + this.#options.timeoutMs
  }

  /** Withdraws all requests until the store can list wants again. */
  #stop(now: number): BlockEffect[] {
    this.#isStopped = true
    this.#isProbing = true
    this.#scan.at(now + limits.blockStoreRetryMs)
    const effects: BlockEffect[] = []
    for (const peer of this.#peers.values()) {
      if (peer.open.size === 0) continue
      effects.push(
        cancel(
          peer.name,
          [...peer.open.values()].map(({ cid }) => cid),
        ),
      )
      this.forget(peer)
      for (const key of [...peer.open.keys()]) peer.withdraw(key)
    }
    return effects
  }

  #releaseFrom(peer: string, key: BlockKey): void {
    const want = this.#wants.get(key)
    assert(want?.peers.has(peer) === true, 'an open request is that of a wanted block')
    this.#wants.withdraw(want, peer)
  }

  #cancel(peer: string, key: BlockKey, cid: Uint8Array): BlockEffect {
    this.#peers.get(peer)?.withdraw(key)
    return cancel(peer, [cid])
  }
}

function requestsOf(asks: ReadonlyMap<string, readonly Uint8Array[]>): BlockEffect[] {
  return [...asks].map(([to, cids]) => ({ do: 'send', to, message: { is: 'wantBlocks', cids } }))
}

function cancel(to: string, cids: readonly Uint8Array[]): BlockEffect {
  return { do: 'send', to, message: { is: 'cancelBlocks', cids } }
}
