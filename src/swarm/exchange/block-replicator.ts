import type { Runtime } from '../../runtime/system-runtime.ts'
import type { Timer } from '../../runtime/timers.ts'
import type { BlockNotice, ExchangedBlocks, TransferThrottle } from '../../store/index.ts'
import {
  type BlockCloseReason,
  type BlockEffect,
  BlockExchange,
  decodeExchangeMessage,
  type ExchangeMessage,
  encodeExchangeMessage,
} from '../../sync/index.ts'

/** Sends messages about blocks to peers, which are named by their public keys as latin1. */
export interface BlockTransport {
  /** Queues a message. `BlockReplicator.sent` is called for each that has left the queue, in order. */
  sendBlocks(peer: string, message: Uint8Array): void
  close(peer: string, reason: BlockCloseReason): void
}

export interface BlockReplicatorOptions {
  readonly transport: BlockTransport
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>
  /** A random number from 0 to before 1. */
  readonly random: () => number
  /** Milliseconds without an answer after which another peer is asked. */
  readonly timeoutMs: number
  /** Slows the exchange down while events are published. */
  readonly throttle: Pick<TransferThrottle, 'pass'>
  /** Called when reading or storing blocks fails: it is tried again later. */
  readonly onFailure: (error: unknown) => void
}

/** Carries out what `BlockExchange` decides, on the blocks of files and the connections to peers. */
export class BlockReplicator {
  readonly #options: BlockReplicatorOptions
  readonly #exchange: BlockExchange
  /** Read by the exchange whenever it needs them. */
  readonly #settings: { readonly random: () => number; timeoutMs: number }
  /** By peer: the lengths of the blocks in the messages that wait to be sent; 0 for other messages. */
  readonly #unsent = new Map<string, number[]>()
  /** The blocks that downloads wait for, by their CIDs as latin1. */
  readonly #asked = new Map<string, Uint8Array>()
  #blocks: ExchangedBlocks | undefined
  #timer: Timer | undefined
  #timerAt = Number.POSITIVE_INFINITY
  #isClosed = false

  constructor(options: BlockReplicatorOptions) {
    this.#options = options
    const { random, timeoutMs } = options
    this.#settings = { random, timeoutMs }
    this.#exchange = new BlockExchange(this.#settings)
  }

  /** Number of blocks that are asked for, or are being stored. */
  get inProgress(): number {
    return this.#exchange.inProgress
  }

  /** Blocks that a peer was asked for, and that it has asked for, without an answer yet. */
  requestsOf(peer: string): ReturnType<BlockExchange['requestsOf']> {
    return this.#exchange.requestsOf(peer)
  }

  /** Milliseconds without an answer after which another peer is asked. */
  set timeoutMs(ms: number) {
    this.#settings.timeoutMs = ms
  }

  /** Sets the blocks of this node; undefined while there is no link to them. */
  setBlocks(blocks: ExchangedBlocks | undefined): void {
    this.#blocks = blocks
    // A new link repeats what downloads wait for.
    for (const cid of this.#asked.values()) this.#apply(this.#exchange.unask(cid, this.#now))
    this.#asked.clear()
    blocks?.setPeers(this.#exchange.hasPeers)
    if (blocks !== undefined) this.#apply(this.#exchange.wantsChanged(this.#now))
  }

  /** The blocks of this node have changed, or a download waits for one. */
  noticed(notice: BlockNotice): void {
    switch (notice.is) {
      case 'wanted':
        this.#apply(this.#exchange.wantsChanged(this.#now))
        break
      case 'asked':
        this.#asked.set(Buffer.from(notice.cid).toString('latin1'), notice.cid)
        this.#apply(this.#exchange.ask(notice.cid, this.#now))
        break
      case 'added':
        this.#apply(this.#exchange.added(notice.cid))
        break
      case 'unasked':
        this.#asked.delete(Buffer.from(notice.cid).toString('latin1'))
        this.#apply(this.#exchange.unask(notice.cid, this.#now))
    }
  }

  connected(peer: string): void {
    this.#unsent.set(peer, [])
    this.#apply(this.#exchange.connected(peer, this.#now))
    this.#blocks?.setPeers(true)
  }

  disconnected(peer: string): void {
    this.#unsent.delete(peer)
    this.#apply(this.#exchange.disconnected(peer, this.#now))
    this.#blocks?.setPeers(this.#exchange.hasPeers)
  }

  /** A message of a peer has arrived. Throws for a malformed one. */
  received(peer: string, bytes: Uint8Array): void {
    this.#apply(this.#exchange.received(peer, decodeExchangeMessage(bytes), this.#now))
  }

  /** The next message to a peer has left the send queue of its current connection. */
  sent(peer: string): void {
    const length = this.#unsent.get(peer)?.shift() ?? 0
    if (length > 0) this.#apply(this.#exchange.sent(peer, length))
  }

  close(): void {
    this.#isClosed = true
    this.#options.runtime.timers.clear(this.#timer)
  }

  get #now(): number {
    return this.#options.runtime.clock.steadyMs()
  }

  #apply(effects: readonly BlockEffect[]): void {
    if (this.#isClosed) return
    for (const effect of effects) this.#carryOut(effect)
    this.#wake()
  }

  #carryOut(effect: BlockEffect): void {
    switch (effect.do) {
      case 'send':
        this.#send(effect.to, effect.message)
        break
      case 'close':
        this.#unsent.delete(effect.peer)
        this.#options.transport.close(effect.peer, effect.reason)
        this.#blocks?.setPeers(this.#exchange.hasPeers)
        break
      case 'listWants':
        void this.#list(effect.from)
        break
      case 'readBlock':
        void this.#read(effect.peer, effect.cid)
        break
      case 'storeBlock':
        void this.#store(effect)
    }
  }

  #send(peer: string, message: ExchangeMessage): void {
    const unsent = this.#unsent.get(peer)
    if (unsent === undefined) return
    unsent.push(message.is === 'block' ? message.bytes.length : 0)
    this.#options.transport.sendBlocks(peer, encodeExchangeMessage(message))
  }

  async #list(from: 'start' | 'next'): Promise<void> {
    // Without the blocks nothing is asked for, as without room for them.
    const none = { cids: [], isEnd: true, hasRoom: false }
    const listed = (await this.#attempt((blocks) => blocks.wanted(from))) ?? none
    this.#apply(this.#exchange.listed(listed, this.#now))
  }

  async #read(peer: string, cid: Uint8Array): Promise<void> {
    const bytes = await this.#attempt((blocks) => blocks.read(cid))
    await this.#options.throttle.pass(bytes?.length ?? 0)
    this.#apply(this.#exchange.read(peer, cid, bytes))
  }

  async #store(effect: Extract<BlockEffect, { do: 'storeBlock' }>): Promise<void> {
    const { cid, bytes } = effect
    await this.#options.throttle.pass(bytes.length)
    const failed = { outcome: 'failed', newWants: [] } as const
    const { outcome, newWants } = (await this.#attempt((blocks) => blocks.receive(cid, bytes))) ?? failed
    if (outcome === 'stored') this.#asked.delete(Buffer.from(cid).toString('latin1'))
    this.#apply(this.#exchange.stored(effect, outcome, newWants, this.#now))
  }

  /** Undefined when it fails, or when there is no link to the blocks. */
  async #attempt<T>(work: (blocks: ExchangedBlocks) => Promise<T>): Promise<T | undefined> {
    const blocks = this.#blocks
    try {
      return blocks && (await work(blocks))
    } catch (error) {
      // A link that has ended is replaced.
      if (!this.#isClosed && blocks === this.#blocks) this.#options.onFailure(error)
      return undefined
    }
  }

  /** Sets the timer for the next time at which something is due. */
  #wake(): void {
    const { timers } = this.#options.runtime
    const at = this.#exchange.wakeAt
    if (at === this.#timerAt) return
    timers.clear(this.#timer)
    this.#timerAt = at
    if (at === Number.POSITIVE_INFINITY) return
    const wake = (): void => {
      this.#timerAt = Number.POSITIVE_INFINITY
      this.#apply(this.#exchange.tick(this.#now))
    }
    this.#timer = timers.setTimeout(wake, Math.max(1, at - this.#now))
  }
}
