import { limits } from '../../src/base/limits.ts'
import type { Block } from '../../src/files/unixfs/index.ts'
import type { Runtime } from '../../src/runtime/system-runtime.ts'
import type { Timer } from '../../src/runtime/timers.ts'
import { MemoryBlockStore } from '../../src/store/memory/memory-block-store.ts'
import type { WantPlace } from '../../src/store/port/index.ts'
import { type BlockEffect, BlockExchange, type BlockOutcome, type ExchangeMessage } from '../../src/sync/index.ts'
import type { Network } from './network.ts'

/** Longest time that the store takes for a block, in milliseconds. */
const storeMs = 5
const timeoutMs = 5000

export interface SimBlocksOptions {
  /** The public key of the node, as latin1. */
  readonly name: string
  readonly network: Network
  readonly runtime: Runtime
  readonly random: () => number
}

/** The blocks of a node, and their exchange with other nodes. The blocks survive a restart, the exchange does not. */
export class SimBlocks {
  readonly store = new MemoryBlockStore()
  /** What happens to blocks of other nodes instead of storing them. */
  refusal: Extract<BlockOutcome, 'noRoom' | 'failed'> | undefined
  readonly #options: SimBlocksOptions
  #exchange: BlockExchange
  /** The last block of the last list of wants. */
  #place: WantPlace | undefined
  #timer: Timer | undefined

  constructor(options: SimBlocksOptions) {
    this.#options = options
    this.#exchange = this.#newExchange()
  }

  restart(): void {
    this.#exchange = this.#newExchange()
    this.#wake()
  }

  connected(peer: string): void {
    this.#apply(this.#exchange.connected(peer, this.#now))
  }

  disconnected(peer: string): void {
    this.#apply(this.#exchange.disconnected(peer, this.#now))
  }

  received(peer: string, message: ExchangeMessage): void {
    this.#apply(this.#exchange.received(peer, message, this.#now))
  }

  /** Stores the blocks of a file of this node. */
  add(blocks: readonly Block[]): void {
    for (const { cid, bytes, links } of blocks) {
      const linked = links.map((link) => link.cid.bytes)
      this.store.put(cid.bytes, bytes, linked)
      this.#apply(this.#exchange.added(cid.bytes))
    }
  }

  /** Pins have changed. */
  wantsChanged(): void {
    this.#apply(this.#exchange.wantsChanged(this.#now))
  }

  /** A download waits for a block, for some time. */
  download(cid: Uint8Array, ms: number): void {
    const exchange = this.#exchange
    this.#apply(exchange.ask(cid, this.#now))
    this.#after(ms, () => exchange.unask(cid, this.#now))
  }

  get #now(): number {
    return this.#options.runtime.clock.steadyMs()
  }

  #newExchange(): BlockExchange {
    return new BlockExchange({ timeoutMs, random: this.#options.random })
  }

  #apply(effects: readonly BlockEffect[]): void {
    for (const effect of effects) this.#carryOut(effect)
    this.#wake()
  }

  #carryOut(effect: BlockEffect): void {
    const { name, network, random } = this.#options
    const exchange = this.#exchange
    switch (effect.do) {
      case 'send': {
        const { to, message } = effect
        const length = message.is === 'block' ? message.bytes.length : undefined
        network.sendBlocks(name, to, message, () => {
          if (length !== undefined && exchange === this.#exchange) this.#apply(exchange.sent(to, length))
        })
        break
      }
      case 'close':
        network.disconnect(name, effect.peer)
        break
      case 'listWants':
        this.#after(random() * storeMs, () => exchange.listed(this.#wants(effect.from), this.#now))
        break
      case 'readBlock':
        this.#after(random() * storeMs, () => exchange.read(effect.peer, effect.cid, this.store.get(effect.cid)))
        break
      case 'storeBlock':
        this.#after(random() * storeMs, () => {
          const { outcome, newWants } =
            this.refusal === undefined
              ? this.store.receive(effect.cid, effect.bytes, effect.isAsked)
              : { outcome: this.refusal, newWants: [] }
          return exchange.stored(effect, outcome, newWants, this.#now)
        })
    }
  }

  #wants(from: 'start' | 'next') {
    const found = this.store.wanted(limits.wantsPerList, from === 'start' ? undefined : this.#place)
    this.#place = found.at(-1)?.place
    const isEnd = found.length < limits.wantsPerList
    return { cids: found.map(({ cid }) => cid), isEnd, hasRoom: this.refusal !== 'noRoom' }
  }

  /** Does something later, unless the node is restarted before. */
  #after(ms: number, work: () => BlockEffect[]): void {
    const exchange = this.#exchange
    this.#options.runtime.timers.setTimeout(() => {
      if (exchange === this.#exchange) this.#apply(work())
    }, ms)
  }

  #wake(): void {
    const { timers } = this.#options.runtime
    timers.clear(this.#timer)
    const { wakeAt } = this.#exchange
    if (wakeAt === Number.POSITIVE_INFINITY) return
    const tick = (): void => this.#apply(this.#exchange.tick(this.#now))
    this.#timer = timers.setTimeout(tick, Math.max(1, wakeAt - this.#now))
  }
}
