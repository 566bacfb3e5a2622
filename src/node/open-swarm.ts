import type { Events } from '../events/index.ts'
import type { KeyPair } from '../identity/index.ts'
import type { Listening } from '../listening/listen.ts'
import type { Logger, LogOutput } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import type { Settings } from '../settings/index.ts'
import type { BackgroundNotice, ThreadWatch } from '../store/index.ts'
import { Swarm, type SwarmSnapshot, type SwarmStore, swarmSettingsOf } from '../swarm/index.ts'
import { DiscoveryEvents } from './discovery-events.ts'
import type { Membership } from './restarts.ts'

interface Parts extends Runtime {
  readonly key: KeyPair
  /** The topic and the key of the swarm. */
  readonly membership: Membership
  readonly settings: Settings
  readonly health: Health
  readonly threads: ThreadWatch
  readonly output: LogOutput
  readonly log: Logger
  readonly background: (notice: BackgroundNotice) => void
}

/** The swarm of a node, with the events by which nodes tell each other their addresses. */
export class NodeSwarm {
  readonly #parts: Parts
  readonly #swarm: Swarm
  readonly #unsubscribe: () => void
  #discovery: DiscoveryEvents | undefined

  /** Changed settings are passed on to the swarm. */
  constructor(parts: Parts) {
    const { clock, timers, random, key, settings, health, threads, output, log } = parts
    this.#parts = parts
    const { topic, swarmKey } = parts.membership
    this.#swarm = new Swarm({
      runtime: { clock, timers, random },
      log,
      threads,
      key,
      topic,
      swarmKey,
      settings: swarmSettingsOf(settings.document, output.filter.text),
      onState: (problem) =>
        problem === undefined ? health.set('Swarm', 'started') : health.set('Swarm', 'failed', problem),
      onSnapshot: ({ listenAddresses, announcedAddresses, observedAddresses }) =>
        this.#discovery?.setAddresses(listenAddresses, announcedAddresses, observedAddresses),
    })
    this.#unsubscribe = settings.onChange(({ after }) => this.#swarm.apply(swarmSettingsOf(after, output.filter.text)))
  }

  get snapshot(): SwarmSnapshot | undefined {
    return this.#swarm.snapshot
  }

  readonly removed: Swarm['removed'] = (...removal) => this.#swarm.removed(...removal)

  /**
   * Starts the thread of the swarm, which exchanges events when it is loaded. The start of a node does not wait for it.
   * @param release frees the addresses that were bound for it
   */
  async start(events: Events, store: SwarmStore, release: () => Promise<readonly Listening[]>): Promise<void> {
    const { clock, timers, key, background } = this.#parts
    this.#discovery = new DiscoveryEvents({
      events,
      node: key.publicKey,
      clock,
      timers,
      background,
      discovered: (discovery) => this.#swarm.discovered(discovery),
    })
    await this.#swarm.start(store, async () => (await release()).map(({ address, port }) => ({ host: address, port })))
    await this.#discovery.run()
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    this.#discovery?.close()
    await this.#swarm.stop()
  }
}
