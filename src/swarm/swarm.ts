import { type MessagePort, Worker } from 'node:worker_threads'
import { assert } from '../base/assert.ts'
import { messageOf } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { tuning } from '../base/tuning.ts'
import type { KeyPair } from '../identity/index.ts'
import type { Logger } from '../logging/index.ts'
import type { StreamKey } from '../protocol/index.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import { threadModule } from '../runtime/thread-module.ts'
import { sleep, type Timer } from '../runtime/timers.ts'
import type { LogLink, ThreadWatch } from '../store/index.ts'
import type { OwnStreamsGate } from './own-streams-gate.ts'
import { DiscoveredAddresses, type Discovery } from './peers/index.ts'
import type { SwarmSnapshot } from './snapshot.ts'
import { GateNotices } from './thread/remote-gate.ts'
import { RestartDelays } from './thread/restart-delays.ts'
import type { FromSwarm, SwarmSettings, ThreadNotice, ToSwarm } from './thread/thread-messages.ts'

export interface SwarmOptions {
  readonly runtime: Runtime
  readonly log: Logger
  readonly threads: ThreadWatch
  readonly key: KeyPair
  readonly topic: string
  readonly swarmKey: string
  readonly settings: SwarmSettings
  /** Called when the swarm works, and when it does not, with the reason. */
  readonly onState: (problem: string | undefined) => void
  readonly onSnapshot?: (snapshot: SwarmSnapshot) => void
  /** Another module for the thread, with its data; for tests. */
  readonly thread?: { readonly module: URL; readonly data: unknown }
}

export interface SwarmStore {
  /** A new link to the log of the topic. */
  link(): LogLink
  readonly gate: OwnStreamsGate | undefined
  /** A port to the files thread, for the exchange of blocks; without it none are exchanged. */
  readonly linkBlocks?: () => Promise<MessagePort>
}

/** The addresses at which the swarm listens. */
type Listen = readonly { readonly host: string; readonly port: number }[]

/**
 * The swarm as the main thread sees it. It runs in a thread of its own, which is started again when it ends; meanwhile
 * the node serves on. All that is known about the swarm here is its last snapshot.
 */
export class Swarm {
  readonly #options: SwarmOptions
  readonly #restarts = new RestartDelays()
  #settings: SwarmSettings
  /** The thread; undefined before the first start. */
  #worker: Worker | undefined
  #loaded = Promise.withResolvers<void>()
  #isLoaded = false
  #started:
    | { readonly store: SwarmStore; readonly listen: Listen; readonly notices: GateNotices | undefined }
    | undefined
  #snapshot: SwarmSnapshot | undefined
  readonly #discovered = new DiscoveredAddresses()
  #openedAt = 0
  /** Why the thread does not run; undefined while it does. */
  #endedBy: string | undefined
  /** Why its last start has failed. */
  #failedStart: string | undefined
  #timer: Timer | undefined
  #isStopping = false

  constructor(options: SwarmOptions) {
    this.#options = options
    this.#settings = options.settings
  }

  /** The last snapshot; undefined before the first one, and while the thread does not run. */
  get snapshot(): SwarmSnapshot | undefined {
    return this.#snapshot
  }

  /**
   * Listens and begins to exchange events, when the thread is loaded. A failed start is reported, and tried again like
   * one after the thread has ended.
   * @param release frees the addresses to listen at
   */
  async start(store: SwarmStore, release: () => Promise<Listen>): Promise<void> {
    assert(this.#worker === undefined && this.#started === undefined, 'the swarm is started once')
    if (this.#isStopping) return
    try {
      this.#worker = this.#spawn()
    } catch (error) {
      // The system refuses another thread. It is tried again.
      this.#ended(messageOf(error))
    }
    await this.#loaded.promise
    if (this.#isStopping) return
    const listen = await release()
    // Another swarm may use the gate by now.
    if (this.#isStopping) return
    this.#started = { store, listen, notices: store.gate && new GateNotices(store.gate) }
    if (store.gate !== undefined) store.gate.onOpen = () => this.#post({ do: 'open-gate' })
    await this.#tryToStart()
  }

  /** Applies changed settings while the swarm runs. */
  apply(settings: SwarmSettings): void {
    this.#settings = settings
    this.#post({ do: 'apply', settings })
  }

  /** This node has pruned an own stream, or has redacted events of it with this record: peers are told. */
  removed(stream: StreamKey, redaction?: Uint8Array): void {
    this.#post({ do: 'removed', stream, redaction })
  }

  /** Another node has published an address of itself, or that it is gone. */
  discovered(discovery: Discovery): void {
    this.#discovered.take(discovery)
    this.#post({ do: 'discovered', discovery })
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    const { timers } = this.#options.runtime
    timers.clear(this.#timer)
    const worker = this.#worker
    if (worker === undefined) return
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    if (this.#isLoaded) {
      this.#post({ do: 'stop' })
      // Peers are told; one that does not take it must not delay the end.
      await Promise.race([ended, sleep(timers, limits.swarmStopMs, { unref: true })])
    }
    await worker.terminate()
    this.#loaded.resolve()
  }

  #spawn(): Worker {
    const { thread } = this.#options
    const module = thread?.module ?? threadModule('thread/swarm-thread', import.meta.url)
    const resourceLimits = { maxYoungGenerationSizeMb: tuning.swarmYoungGenerationMb }
    const worker = new Worker(module, { workerData: thread?.data, resourceLimits })
    this.#endedBy = undefined
    this.#failedStart = undefined
    this.#openedAt = this.#options.runtime.clock.steadyMs()
    let cause = 'without an error'
    worker.on('error', (error) => {
      cause = error instanceof Error ? error.message : String(error)
    })
    worker.on('exit', () => this.#ended(this.#failedStart ?? cause))
    worker.on('message', (message: FromSwarm) => this.#take(message))
    return worker
  }

  /** Starts the part of the swarm in the thread. Resolves when it listens. */
  #startThread(): Promise<void> {
    assert(this.#started !== undefined, 'the store is known')
    const { key, topic, swarmKey, threads } = this.#options
    const { store, listen } = this.#started
    const worker = this.#worker
    assert(worker !== undefined, 'the thread was started')
    if (this.#endedBy !== undefined) return Promise.reject(new Error(this.#endedBy))
    return new Promise((resolve, reject) => {
      const take = (message: FromSwarm): void => {
        if (message.is !== 'started' && message.is !== 'start-failed') return
        worker.off('message', take)
        if (message.is === 'start-failed') {
          reject(new Error(message.reason))
          return
        }
        this.#openedAt = this.#options.runtime.clock.steadyMs()
        threads.started('swarm')
        for (const discovery of this.#discovered.all()) this.#post({ do: 'discovered', discovery })
        this.#options.onState(undefined)
        resolve()
      }
      worker.on('message', take)
      worker.once('exit', () => reject(new Error('the swarm thread has ended')))
      try {
        const link = store.link()
        const settings = this.#settings
        const isGateOpen = store.gate?.isOpen !== false
        const privateKey = key.toPrivateText()
        const start = { link, topic, swarmKey, privateKey, listen, settings, isGateOpen }
        worker.postMessage({ do: 'start', start } satisfies ToSwarm, [link.port])
      } catch (error) {
        reject(error)
      }
    })
  }

  #post(message: ToSwarm): void {
    this.#worker?.postMessage(message)
  }

  #take(message: FromSwarm): void {
    switch (message.is) {
      case 'snapshot':
        this.#snapshot = message.snapshot
        this.#options.onSnapshot?.(message.snapshot)
        break
      case 'log':
        this.#options.log.relay(message.record)
        break
      case 'gate':
        this.#started?.notices?.take(message.notice)
        break
      case 'thread':
        this.#noticed(message.notice)
        break
      case 'loaded':
        this.#isLoaded = true
        this.#loaded.resolve()
        break
      case 'wants-blocks':
        void this.#linkBlocks()
        break
      case 'started':
      case 'start-failed':
      case 'stopped':
    }
  }

  async #linkBlocks(): Promise<void> {
    const worker = this.#worker
    // A failure is reported by the files; the thread asks again.
    const port = await this.#started?.store.linkBlocks?.().catch(() => undefined)
    worker?.postMessage({ do: 'link-blocks', port } satisfies ToSwarm, port === undefined ? [] : [port])
  }

  #noticed({ thread, is, reason }: ThreadNotice): void {
    const { threads } = this.#options
    if (is === 'started') threads.started(thread)
    else threads[is](thread, new Error(reason))
  }

  #ended(cause: string): void {
    this.#snapshot = undefined
    this.#endedBy = cause
    this.#isLoaded = false
    this.#started?.notices?.threadEnded()
    if (this.#isStopping) return
    const { clock, timers } = this.#options.runtime
    const { onState, threads } = this.#options
    onState(`the swarm thread has ended: ${cause}`)
    threads.ended('swarm', new Error(cause))
    const delay = this.#restarts.after(clock.steadyMs() - this.#openedAt)
    this.#timer = timers.setTimeout(() => void this.#restart(), delay).unref()
  }

  async #restart(): Promise<void> {
    if (this.#isStopping) return
    try {
      this.#worker = this.#spawn()
    } catch (error) {
      // The system refuses another thread.
      this.#ended(messageOf(error))
      return
    }
    // Before the first start there is nothing to go on with.
    if (this.#started !== undefined) await this.#tryToStart()
  }

  async #tryToStart(): Promise<void> {
    try {
      await this.#startThread()
    } catch (error) {
      if (this.#isStopping) return
      // Its end starts it again.
      const failed = error instanceof Error ? error : new Error(String(error))
      this.#failedStart = failed.message
      this.#options.threads.startFailed('swarm', failed)
      await this.#worker?.terminate()
    }
  }
}
