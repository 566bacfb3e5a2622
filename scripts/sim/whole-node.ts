import { failure } from '../../src/base/errors.ts'
import { limits } from '../../src/base/limits.ts'
import { Events } from '../../src/events/index.ts'
import type { ExchangeMessage } from '../../src/sync/index.ts'
import { silent } from '../../test/support/api.ts'
import { isRefusal, RecordedStore } from './recorded-store.ts'
import { SimFiles } from './sim-files.ts'
import { gossipMs, SimNode, type SimNodeOptions } from './sim-node.ts'
import { SimRetention } from './sim-retention.ts'

const appId = 'com.example.sim'
/** The stream that gets most events. Names and files are in other ones. */
export const appStream = { name: 'app', number: 1 }
const routes = [{ from: `'${appStream.name}'`, into: appStream.name }]

/** A whole node: with the events that apps publish, names, files and retention. */
export class WholeNode extends SimNode {
  readonly files: SimFiles
  readonly retention: SimRetention
  readonly restarts = { begun: 0, done: 0 }
  readonly #options: SimNodeOptions
  /** The store until the next restart. */
  #recorded: RecordedStore
  #events = Promise.withResolvers<Events>()

  constructor(options: SimNodeOptions) {
    super(options)
    this.#options = options
    const { label, runtime, disk, network, random, agenda, ledger } = options
    this.files = new SimFiles({ name: this.name, network, runtime, random, disk, fail: agenda.fail })
    this.retention = new SimRetention({ label, ledger, agenda, ...runtime })
    this.#recorded = this.#record()
  }

  override async start(): Promise<void> {
    await super.start()
    this.files.start()
    await this.#open(this.#events)
  }

  /** Publishes events of an app with these payloads. Returns whether they are acknowledged. */
  publishTo(stream: 'app' | 'default', payloads: readonly string[]): Promise<boolean> {
    const tags = JSON.stringify(stream === appStream.name ? ['sim', appStream.name] : ['sim'])
    const data = payloads.map((payload) => `{"tags":${tags},"payload":${payload}}`)
    return this.#unlessRefused((events) => events.publish(appId, Buffer.from(`{"data":[${data.join()}]}`)))
  }

  /** Publishes an event of the node itself. Returns whether it is acknowledged. */
  publishFact(tags: readonly string[], payload: unknown): Promise<boolean> {
    return this.#unlessRefused((events) => events.system.publish(tags, payload))
  }

  async #unlessRefused(work: (events: Events) => Promise<unknown>): Promise<boolean> {
    try {
      await work(await this.#events.promise)
      return true
    } catch (error) {
      if (isRefusal(error)) return false
      throw error
    }
  }

  override connected(peer: string): void {
    super.connected(peer)
    this.files.blocks.connected(peer)
  }

  override disconnected(peer: string): void {
    super.disconnected(peer)
    this.files.blocks.disconnected(peer)
  }

  override receivedBlocks(peer: string, message: ExchangeMessage): void {
    this.files.blocks.received(peer, message)
  }

  override async restart(change?: () => Promise<void>): Promise<void> {
    this.restarts.begun++
    this.#recorded.close()
    this.retention.pause()
    this.files.stop()
    const [before, events] = [this.#events, Promise.withResolvers<Events>()]
    this.#events = events
    // It may still be opening.
    before.promise.then((old) => old.close()).catch(() => {})
    await super.restart(change)
    this.restarts.done++
    this.#recorded = this.#record()
    this.files.blocks.restart()
    this.files.start()
    this.#open(events).catch(this.#options.agenda.fail)
  }

  /** The operator changes settings of replication. They hold until the next restart. */
  configure({ isReadOnly = false, gossip = gossipMs }: { isReadOnly?: boolean; gossip?: number }): void {
    this.replicator.setReadOnly(isReadOnly)
    this.replicator.setTimes({ gossipMs: gossip, pingTimeoutMs: limits.pingTimeoutMs })
  }

  /** The operator accepts a restored backup, unless the node is sure of its own streams. */
  accept(): void {
    if (this.gate?.isInDoubt === true) this.gate.accept()
  }

  /** Stops what it does by itself. Its store is still open. */
  override stop(): void {
    super.stop()
    this.retention.stop()
    this.files.stop()
  }

  /** Opens the events of the current store, unless the node is restarted before that is done. */
  async #open(opened: PromiseWithResolvers<Events>): Promise<void> {
    const { clock, timers } = this.#options.runtime
    const recorded = this.#recorded
    try {
      const { settings: streams } = this.retention
      const parts = { routes, streams, log: silent, clock, timers, gate: this.gate }
      const aheadOfPeers = (): number[] =>
        this.replicator.peers().flatMap(({ isReady, clockAhead }) => (isReady ? [-clockAhead] : []))
      const events = await Events.open(recorded.store, { node: this.id, ...parts, aheadOfPeers })
      opened.resolve(events)
      if (this.#events === opened) this.retention.start(events)
    } catch (error) {
      if (this.#events === opened && !isRefusal(error)) throw error
      opened.reject(failure('ERR_SHUTTING_DOWN', {}))
    }
  }

  #record(): RecordedStore {
    const { ledger, label, agenda } = this.#options
    return new RecordedStore({
      store: this.store,
      ledger,
      label,
      nowMs: () => agenda.nowMs,
      streamId: (number) => this.streamId(number),
      beforePrune: (stream, count) => this.retention.check(stream, count),
      pruned: (stream) => this.pruned(stream),
    })
  }
}
