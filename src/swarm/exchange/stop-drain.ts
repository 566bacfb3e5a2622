import { format } from '../../base/format.ts'
import { limits } from '../../base/limits.ts'
import type { PublicKey } from '../../identity/index.ts'
import type { StreamKey } from '../../protocol/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { sleep, yieldToEventLoop } from '../../runtime/timers.ts'
import type { Sync } from '../../sync/index.ts'
import type { ReplicatedLog } from './replicated-log.ts'

export interface StopDrainOptions {
  readonly log: Pick<ReplicatedLog, 'headOf'>
  /** The public key of this node. */
  readonly node: Uint8Array
  readonly runtime: Runtime
  readonly sync: Pick<Sync, 'peers' | 'isReadOnly'>
}

/**
 * Before a node stops, waits until its peers have stored what it published last: it was acknowledged, and the node may
 * not come back for long.
 */
export class StopDrain {
  readonly #options: StopDrainOptions
  /** By number of the own stream: the last append. */
  readonly #appended = new Map<number, { readonly count: number; readonly at: number }>()
  #done: (() => void) | undefined
  /** Appends before this time were reported by the peers that store them. */
  #since = 0

  constructor(options: StopDrainOptions) {
    this.#options = options
  }

  /** Own events were committed; `count` is the number of events of their stream now. */
  appended({ number }: StreamKey, count: number): void {
    if (this.#appended.size >= format.streamsPerNode && !this.#appended.has(number)) return
    this.#appended.set(number, { count, at: this.#options.runtime.clock.steadyMs() })
  }

  /** Resolves when the peers have said that they have stored it, or after a limit. */
  async wait(): Promise<void> {
    const { clock, timers } = this.#options.runtime
    this.#since = clock.steadyMs() - limits.drainedAppendsMs
    const ended = new AbortController()
    const done = new Promise<void>((resolve) => {
      this.#done = resolve
    })
    const drained = this.#settle().then(() => {
      this.check()
      return done
    })
    await Promise.race([drained, sleep(timers, limits.drainMs, { signal: ended.signal })])
    ended.abort()
    this.#done = undefined
  }

  /** A peer has reported what it has stored, or is gone. */
  check(): void {
    if (this.#done !== undefined && this.#isStored()) this.#done()
  }

  /** Waits for the notices of all acknowledged commits. */
  async #settle(): Promise<void> {
    const { log, node, runtime } = this.#options
    // The writer announces commits after the calls that it took with them, so before the second answer. A
    // store that cannot answer has nothing more to announce.
    for (let i = 0; i < 2; i++) await log.headOf({ node: node as PublicKey, number: 0 }).catch(() => undefined)
    await yieldToEventLoop(runtime.timers)
  }

  #isStored(): boolean {
    const { sync } = this.#options
    // Peers are told nothing of the own streams.
    if (sync.isReadOnly) return true
    const recent = [...this.#appended].filter(([, { at }]) => at >= this.#since)
    const peers = sync.peers().filter(({ isReady, isCongested }) => isReady && !isCongested)
    return peers.every(({ stored }) => recent.every(([number, { count }]) => (stored.get(number) ?? 0) >= count))
  }
}
