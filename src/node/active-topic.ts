import type { Blobs } from '../api/index.ts'
import { failure, messageOf } from '../base/errors.ts'
import type { Events } from '../events/index.ts'
import type { Files } from '../files/index.ts'
import type { Listening } from '../listening/listen.ts'
import { Outage } from '../observability/outage.ts'
import type { SwarmSnapshot } from '../swarm/index.ts'
import { NodeSwarm } from './open-swarm.ts'
import { type Membership, Restarts } from './restarts.ts'
import { Topic } from './topic.ts'
import type { TopicParts } from './topic-parts.ts'

export interface ActiveTopicOptions extends Omit<TopicParts, 'removed' | 'swarm'> {
  /** Frees the addresses that were bound for the swarm. */
  readonly releaseSwarm: () => Promise<readonly Listening[]>
  /** Called when the topic is changed: connections that depend on the old one have to end. */
  readonly leaving: () => void
}

/**
 * The topic in the settings, and the swarm that exchanges it. A changed topic is opened, and a changed swarm key is
 * applied, while the node runs.
 */
export class ActiveTopic {
  readonly #options: ActiveTopicOptions
  readonly #parts: TopicParts
  readonly #initial: Membership
  /** Failures to open a changed topic. */
  readonly #failures: Outage
  /** Rejects while there is none: after it was closed, and before the next one is open. */
  #opened: Promise<Topic>
  #topic: Topic | undefined
  #swarm: NodeSwarm | undefined
  #restarts: Restarts | undefined
  #unsubscribe: () => void = () => {}

  /** Begins to open the topic. */
  constructor(options: ActiveTopicOptions) {
    const { settings, health, replicates, log, clock } = options
    this.#options = options
    this.#failures = new Outage('opening a topic', log, clock)
    this.#parts = {
      ...options,
      removed: (...removal) => this.#swarm?.removed(...removal),
      swarm: replicates ? () => this.#swarm?.snapshot : undefined,
    }
    health.check('OwnStreams', () => this.#topic?.store.gate?.problem)
    this.#initial = settings.document.swarm
    this.#opened = this.#open(this.#initial)
    // Not unhandled: `start` awaits it.
    this.#opened.catch(() => {})
  }

  readonly events = async (): Promise<Events> => (await this.#opened).events
  readonly files = async (): Promise<Files> => (await this.#opened).files
  readonly blobs = async (): Promise<Blobs> => (await this.#opened).blobs

  /** The topic that is open; undefined while one is opened or closed. */
  get name(): string | undefined {
    return this.#topic?.name
  }

  /** What is known about the swarm; undefined without one. */
  get snapshot(): SwarmSnapshot | undefined {
    return this.#swarm?.snapshot
  }

  /** Waits for the topic to be open, starts the swarm, and applies the changes of settings from now on. */
  async start(): Promise<void> {
    const { settings, timers } = this.#options
    const topic = await this.#opened
    this.#startSwarm(topic, this.#initial)
    const steps = {
      changeTopic: (to: Membership) => this.#changeTopic(to),
      restartSwarm: (to: Membership) => this.#restartSwarm(to),
    }
    const restarts = new Restarts(this.#initial, steps, timers)
    this.#restarts = restarts
    this.#unsubscribe = settings.onChange(({ after }) => restarts.change(after.swarm))
    restarts.change(settings.document.swarm)
  }

  /** Closes and opens all parts of the topic and the swarm, in the background. */
  restart(): void {
    this.#restarts?.restart()
  }

  /** Ends a change of the topic, and all queries and subscriptions; publishing goes on. */
  async stopReading(): Promise<void> {
    this.#unsubscribe()
    await this.#restarts?.stop()
    // A topic that could not be opened has nothing to stop.
    await this.#opened.catch(() => {})
    this.#topic?.stopReading()
  }

  async close(): Promise<void> {
    await this.stopReading()
    // Before the store, which it is linked to.
    await this.#swarm?.stop()
    await this.#topic?.close()
  }

  async #open({ topic }: Membership): Promise<Topic> {
    const { health } = this.#options
    try {
      this.#topic = await Topic.open(topic, this.#parts)
      health.set('Events', 'started')
      return this.#topic
    } catch (error) {
      health.set('Events', 'failed', `the topic '${topic}' could not be opened: ${messageOf(error)}`)
      throw error
    }
  }

  async #changeTopic(to: Membership): Promise<void> {
    const { health, log, leaving } = this.#options
    const { topic } = to
    // A failed change is repeated silently.
    const current = this.#topic?.name
    if (current !== undefined) log.info(current === topic ? 'restarting the store' : `changing to the topic '${topic}'`)
    health.set('Events', 'starting', `the node changes to the topic '${topic}'`)
    this.#refuse(topic, 'the node changes to it')
    leaving()
    await this.#closeTopic()
    try {
      const opened = await this.#open(to)
      this.#opened = Promise.resolve(opened)
      this.#startSwarm(opened, to)
      this.#failures.succeeded()
      log.info(`the topic '${topic}' is open`)
    } catch (error) {
      this.#refuse(topic, `it could not be opened: ${messageOf(error)}`)
      this.#failures.failed(`'${topic}': ${messageOf(error)}`)
      throw error
    }
  }

  async #restartSwarm(to: Membership): Promise<void> {
    const { log } = this.#options
    log.module('swarm').info('restarting with the changed swarm key')
    try {
      await this.#stopSwarm()
    } catch (error) {
      log.module('swarm').error(`the swarm could not be stopped: ${messageOf(error)}`)
      throw error
    }
    if (this.#topic !== undefined) this.#startSwarm(this.#topic, to)
  }

  /** Makes requests fail until a topic is open. */
  #refuse(topic: string, cause: string): void {
    this.#opened = Promise.reject(failure('ERR_TOPIC_UNAVAILABLE', { topic, cause }))
    // Not unhandled: each request awaits it.
    this.#opened.catch(() => {})
  }

  async #closeTopic(): Promise<void> {
    const { health, log, disk, background, threads, eventMetrics, blockMetrics } = this.#options
    const topic = this.#topic
    this.#topic = undefined
    eventMetrics.file = undefined
    blockMetrics.files = undefined
    topic?.stopReading()
    await this.#stopSwarm()
    try {
      await topic?.close()
    } catch (error) {
      log.error(`a part of the topic could not be closed: ${messageOf(error)}`)
    }
    // Problems of a closed topic are not those of the next one.
    for (const report of [disk, background, threads]) report.reset()
    for (const problem of ['Store', 'Retention']) health.resolve(problem)
  }

  #startSwarm({ events, store }: Topic, membership: Membership): void {
    const { replicates, health, background, log, releaseSwarm } = this.#options
    if (!replicates) return
    health.set('Swarm', 'starting')
    this.#swarm = new NodeSwarm({
      ...this.#options,
      membership,
      background: background.onNotice,
      log: log.module('swarm'),
    })
    void this.#swarm.start(events, store, releaseSwarm)
  }

  async #stopSwarm(): Promise<void> {
    const swarm = this.#swarm
    if (swarm === undefined) return
    this.#options.health.set('Swarm', 'starting')
    this.#swarm = undefined
    await swarm.stop()
  }
}
