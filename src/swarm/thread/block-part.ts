import type { MessagePort } from 'node:worker_threads'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { sleep, type Timer } from '../../runtime/timers.ts'
import { LinkedBlocks, type LinkedLog, TransferThrottle } from '../../store/linked/index.ts'
import { BlockReplicator, type BlockTransport } from '../exchange/block-replicator.ts'
import { RestartDelays } from './restart-delays.ts'

interface BlockPartOptions {
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly random: () => number
  readonly transport: BlockTransport
  /** Tells when events are published. */
  readonly store: Pick<LinkedLog, 'onAppended'>
  readonly timeoutMs: number
  /** Asks the main thread for a port to the files thread. `link` takes it. */
  readonly requestLink: () => void
  /** Called when reading or storing blocks fails. */
  readonly onFailure: (error: unknown) => void
}

/** The exchange of blocks in the swarm thread, with its link to the files thread: when it ends, another one is made. */
export class BlockPart {
  readonly replicator: BlockReplicator
  readonly #options: BlockPartOptions
  readonly #delays = new RestartDelays()
  readonly #unsubscribe: () => void
  #link: LinkedBlocks | undefined
  #linkedAt = 0
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: BlockPartOptions) {
    const { runtime, random, transport, store, timeoutMs, onFailure } = options
    this.#options = options
    let commits = 0
    this.#unsubscribe = store.onAppended(() => commits++)
    const throttle = new TransferThrottle(
      () => commits,
      (ms) => sleep(runtime.timers, ms),
    )
    this.replicator = new BlockReplicator({ runtime, random, timeoutMs, transport, throttle, onFailure })
  }

  /** The main thread has made a link; undefined when it could not. */
  link(port: MessagePort | undefined): void {
    if (this.#isStopped || this.#link !== undefined) {
      port?.close()
      return
    }
    this.#linkedAt = this.#options.runtime.clock.steadyMs()
    if (port === undefined) {
      this.#ended()
      return
    }
    this.#link = new LinkedBlocks(port, {
      onNotice: (notice) => this.replicator.noticed(notice),
      onEnd: () => this.#ended(),
    })
    this.replicator.setBlocks(this.#link)
  }

  stop(): void {
    this.#isStopped = true
    this.#options.runtime.timers.clear(this.#timer)
    this.#unsubscribe()
    this.replicator.close()
    this.#link?.close()
  }

  #ended(): void {
    const { runtime, requestLink } = this.#options
    this.#link = undefined
    this.replicator.setBlocks(undefined)
    const delay = this.#delays.after(runtime.clock.steadyMs() - this.#linkedAt)
    this.#timer = runtime.timers.setTimeout(requestLink, delay)
  }
}
