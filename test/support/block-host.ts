import type { FileBlocks } from '../../src/files/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { Timer } from '../../src/runtime/timers.ts'
import {
  type BlockEffect,
  BlockExchange,
  decodeExchangeMessage,
  type ExchangeMessage,
  encodeExchangeMessage,
} from '../../src/sync/index.ts'

/** Applies the effects of an exchange of blocks to real files; messages go to the other hosts directly. */
export class BlockHost {
  readonly name: string
  readonly #blocks: FileBlocks
  readonly #exchange = new BlockExchange({ timeoutMs: 15_000, random: () => 0.5 })
  readonly #peers = new Map<string, BlockHost>()
  /** What it has sent, by kind. */
  readonly sent: Partial<Record<ExchangeMessage['is'], number>> = {}
  readonly #failed: (error: unknown) => void
  #timer: Timer | undefined
  #isClosed = false

  constructor(name: string, blocks: FileBlocks, failed: (error: unknown) => void) {
    this.name = name
    this.#blocks = blocks
    this.#failed = failed
    blocks.onWanted(() => this.#apply(this.#exchange.wantsChanged(this.#now)))
    blocks.setSource({
      ask: (cid) => {
        if (!this.#exchange.hasPeers) return false
        this.#apply(this.#exchange.ask(cid, this.#now))
        return true
      },
      unask: (cid) => this.#apply(this.#exchange.unask(cid, this.#now)),
    })
  }

  connect(peer: BlockHost): void {
    this.#peers.set(peer.name, peer)
    this.#apply(this.#exchange.connected(peer.name, this.#now))
  }

  close(): void {
    systemRuntime.timers.clear(this.#timer)
    this.#isClosed = true
  }

  receive(peer: string, bytes: Uint8Array): void {
    this.#apply(this.#exchange.received(peer, decodeExchangeMessage(bytes), this.#now))
  }

  get #now(): number {
    return systemRuntime.clock.steadyMs()
  }

  #apply(effects: readonly BlockEffect[]): void {
    for (const effect of effects)
      this.#do(effect).then(
        (more) => this.#apply(more),
        (error: unknown) => this.#isClosed || this.#failed(error),
      )
    const { timers } = systemRuntime
    timers.clear(this.#timer)
    const { wakeAt } = this.#exchange
    if (wakeAt === Number.POSITIVE_INFINITY || this.#isClosed) return
    const wake = (): void => this.#apply(this.#exchange.tick(this.#now))
    this.#timer = timers.setTimeout(wake, Math.max(1, wakeAt - this.#now)).unref()
  }

  /** Returns what follows from the result of an effect. */
  async #do(effect: BlockEffect): Promise<BlockEffect[]> {
    switch (effect.do) {
      case 'send': {
        const { to, message } = effect
        this.sent[message.is] = (this.sent[message.is] ?? 0) + 1
        const bytes = Buffer.from(encodeExchangeMessage(message))
        await new Promise((resolve) => setImmediate(resolve))
        this.#peers.get(to)?.receive(this.name, bytes)
        return message.is === 'block' ? this.#exchange.sent(to, message.bytes.length) : []
      }
      case 'close':
        throw new Error(`${this.name} closes ${effect.peer}: ${effect.reason}`)
      case 'listWants':
        return this.#exchange.listed(await this.#blocks.wanted(effect.from), this.#now)
      case 'readBlock':
        return this.#exchange.read(effect.peer, effect.cid, await this.#blocks.read(effect.cid))
      case 'storeBlock': {
        const { outcome, newWants } = await this.#blocks.receive(effect.cid, effect.bytes)
        return this.#exchange.stored(effect, outcome, newWants, this.#now)
      }
    }
  }
}
