import type { BlockEffect, BlockOutcome, StoreBlock } from './block-effects.ts'
import { BlockFetcher, type FetcherOptions, type WantList } from './block-fetcher.ts'
import type { ExchangeMessage } from './block-messages.ts'
import { BlockPeer } from './block-peer.ts'
import { BlockServer } from './block-server.ts'

export type BlockExchangeOptions = FetcherOptions

/**
 * The exchange of blocks of files with the peers of a topic. A state machine: it is told what happens and when, and
 * returns what to do. It has no clock, timers, sockets or store. Times are milliseconds of a monotonic clock.
 */
export class BlockExchange {
  readonly #peers = new Map<string, BlockPeer>()
  readonly #fetcher: BlockFetcher
  readonly #server = new BlockServer(this.#peers)

  constructor(options: BlockExchangeOptions) {
    this.#fetcher = new BlockFetcher(options, this.#peers)
  }

  /** When `tick` has to be called next. */
  get wakeAt(): number {
    return this.#fetcher.wakeAt
  }

  get hasPeers(): boolean {
    return this.#peers.size > 0
  }

  /** Number of blocks that are asked for, or are being stored. */
  get inProgress(): number {
    return this.#fetcher.inProgress
  }

  /** Blocks that a peer was asked for, and that it has asked for, without an answer yet. */
  requestsOf(name: string): { readonly blocksAsked: number; readonly blocksRequested: number } {
    const peer = this.#peers.get(name)
    if (peer === undefined) return { blocksAsked: 0, blocksRequested: 0 }
    return { blocksAsked: peer.open.size, blocksRequested: peer.requested.size + peer.reading.size }
  }

  /** A peer has connected and introduced itself. */
  connected(name: string, now: number): BlockEffect[] {
    this.#forget(name)
    this.#peers.set(name, new BlockPeer(name))
    this.#fetcher.scanSoon(now)
    return this.#fetcher.request(now)
  }

  disconnected(name: string, now: number): BlockEffect[] {
    this.#forget(name)
    return [...this.#server.serve(), ...this.#fetcher.request(now)]
  }

  /** A message of a peer has arrived. */
  received(name: string, message: ExchangeMessage, now: number): BlockEffect[] {
    const peer = this.#peers.get(name)
    if (peer === undefined) return []
    return [...this.#handle(peer, message, now), ...this.#fetcher.request(now)]
  }

  /** There may be new wanted blocks in the store. */
  wantsChanged(now: number): BlockEffect[] {
    this.#fetcher.scanSoon(now)
    return this.#fetcher.request(now)
  }

  /** The store has listed wanted blocks. */
  listed(list: WantList, now: number): BlockEffect[] {
    return [...this.#fetcher.listed(list, now), ...this.#fetcher.request(now)]
  }

  /** A download waits for a block. The host limits their number, and ends each with `unask`. */
  ask(cid: Uint8Array, now: number): BlockEffect[] {
    this.#fetcher.ask(cid)
    return this.#fetcher.request(now)
  }

  /** No download waits for a block any more. */
  unask(cid: Uint8Array, now: number): BlockEffect[] {
    return [...this.#fetcher.unask(cid), ...this.#fetcher.request(now)]
  }

  /** A block was given to the store. `newWants` are blocks that are wanted because of its links. */
  stored(effect: StoreBlock, outcome: BlockOutcome, newWants: readonly Uint8Array[], now: number): BlockEffect[] {
    const effects = this.#fetcher.stored(effect, outcome, newWants, now)
    if (outcome === 'stored') effects.push(...this.#server.arrived(effect.cid))
    if (outcome === 'wrong') effects.push(...this.#close(effect.from))
    return [...effects, ...this.#fetcher.request(now)]
  }

  /** A block for a peer was read; undefined when it is not stored. */
  read(name: string, cid: Uint8Array, bytes: Uint8Array | undefined): BlockEffect[] {
    const peer = this.#peers.get(name)
    return peer === undefined ? [] : this.#server.read(peer, cid, bytes)
  }

  /** A message with a block of this length has left the send queue of the current connection of a peer. */
  sent(name: string, length: number): BlockEffect[] {
    const peer = this.#peers.get(name)
    return peer === undefined ? [] : this.#server.sent(peer, length)
  }

  /** A block was stored by other means than `storeBlock`, such as an upload of this node. */
  added(cid: Uint8Array): BlockEffect[] {
    return this.#server.arrived(cid)
  }

  /** Time has passed. */
  tick(now: number): BlockEffect[] {
    return [...this.#fetcher.expire(now), ...this.#fetcher.request(now)]
  }

  #handle(peer: BlockPeer, message: ExchangeMessage, now: number): BlockEffect[] {
    switch (message.is) {
      case 'wantBlocks':
        return this.#orForget(peer, this.#server.wanted(peer, message.cids))
      case 'cancelBlocks':
        this.#server.cancelled(peer, message.cids)
        return []
      case 'block':
        return this.#orForget(peer, this.#fetcher.block(peer, message.cid, message.bytes, now))
      case 'blocksNotHere':
        this.#fetcher.notHere(peer, message.cids, now)
        return []
      case 'haveBlocks':
        this.#fetcher.have(peer, message.cids, now)
        return []
    }
  }

  /** Forgets a peer that is closed by what follows from its message. */
  #orForget(peer: BlockPeer, effects: BlockEffect[]): BlockEffect[] {
    if (effects[0]?.do === 'close') this.#forget(peer.name)
    return effects
  }

  #close(name: string): BlockEffect[] {
    if (!this.#peers.has(name)) return []
    this.#forget(name)
    return [{ do: 'close', peer: name, reason: 'badBlock' }, ...this.#server.serve()]
  }

  #forget(name: string): void {
    const peer = this.#peers.get(name)
    if (peer === undefined) return
    this.#peers.delete(name)
    this.#fetcher.forget(peer)
    this.#server.forget(peer)
  }
}
