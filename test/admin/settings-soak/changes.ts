import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../src/settings/index.ts'
import { until } from '../../support/process.ts'
import { checkAdmission, checkApplied, isConnected, publishRouted, ready, Streams, untilConnected } from './checks.ts'
import { Outages, overApi, type Subscription, subscribe, subscribeSocket, untilSeen } from './load.ts'
import type { Operators } from './operators.ts'
import type { RandomChange } from './random-change.ts'
import { RestartLines } from './restart-lines.ts'
import { pathsOfSchema } from './setting-values.ts'
import type { Site } from './site.ts'

/** Makes changes, one after the other, and compares what is said with what happens. */
export class Changes {
  readonly counts = { stored: 0, refused: 0, topic: 0, swarmKey: 0, connected: 0 }
  readonly outages = new Outages()
  /** The payloads of events that were acknowledged. */
  readonly probes: string[] = []
  readonly #t: TestContext
  readonly #site: Site
  readonly #operators: Operators
  readonly #lines: RestartLines
  readonly #streams = new Streams()
  #subscriptions: readonly Subscription[] = []
  #shownRestarts = 0

  constructor(t: TestContext, site: Site, operators: Operators) {
    this.#t = t
    this.#site = site
    this.#operators = operators
    this.#lines = new RestartLines(site.node.log)
  }

  /** Opens the subscriptions. */
  async begin(): Promise<void> {
    const { node } = this.#site
    this.#subscriptions = [
      await subscribe(node, 'soak'),
      await subscribe(node, 'routed'),
      await subscribeSocket(this.#t, node, 'soak'),
    ]
  }

  get stored(): JsonObject {
    return this.#settings.get([], { defaults: false }) as JsonObject
  }

  get revision(): number {
    return this.#settings.revision
  }

  async make(change: RandomChange): Promise<void> {
    const { users, stored, revision } = { users: this.#users, stored: this.stored, revision: this.revision }
    const before = this.#settings.document
    const what = JSON.stringify(change)
    const said = await this.#operators.send(change, users, { dryRun: true })
    assert.deepEqual([this.stored, this.revision], [stored, revision], what)
    const changesTopic = said.body.applied?.restart.includes('/swarm/topic') === true
    if (changesTopic) this.outages.begin()
    const done = await this.#operators.send(change, users)
    if (change.refused !== undefined) {
      const { status, code } = change.refused
      assert.deepEqual([said.status, said.body.code, done.status, done.body.code], [status, code, status, code], what)
      assert.deepEqual([this.stored, this.revision], [stored, revision], what)
      this.counts.refused++
      return
    }
    assert.deepEqual([done.status, done.body.applied], [200, said.body.applied], `${what} ${JSON.stringify(done.body)}`)
    assert.deepEqual(this.stored, change.stored, what)
    checkApplied(pathsOfSchema(), before, this.#settings.document, done.body.applied)
    this.counts.stored++
    await this.#apply(done.body.applied.restart)
  }

  /** Publishes an event that is routed as the settings say, and reaches all subscriptions. */
  async probe(): Promise<void> {
    const payload = `probe ${this.probes.length}`
    this.probes.push(payload)
    this.#streams.check(this.#settings.document, await publishRouted(overApi(this.#site.node), payload))
    await untilSeen(this.#subscriptions, payload)
  }

  /** Waits until a change is in force. */
  async #apply(restart: readonly string[]): Promise<void> {
    const { node } = this.#site
    const { admin } = this.#settings.document
    if (restart.length > 0 && RestartLines.areShown(admin.logLevels.node)) this.#shownRestarts++
    if (restart.includes('/swarm/topic')) {
      await until(
        () => (this.#subscriptions.every(({ isOpen }) => !isOpen) ? true : undefined),
        () => 'a subscription to the former topic is open',
      )
      assert.ok(this.#subscriptions.every(({ isEndedByChange }) => isEndedByChange))
      await ready(node)
      this.outages.isOver = true
      this.counts.topic++
      await this.begin()
    } else if (restart.length > 0) {
      await ready(node)
      this.counts.swarmKey++
    }
    for (const { isOpen, name } of this.#subscriptions)
      assert.ok(isOpen, `${name} was closed, which was not said before`)
    assert.equal(this.#lines.count, this.#shownRestarts, 'a restart was not said before')
    await this.#operators.checkRemoved(this.#users)
    assert.equal(await this.#operators.displayName(this.#users), admin.displayName)
    await checkAdmission(node, this.#settings.document)
    if (restart.length > 0 && this.#dialsPeer) await untilConnected(node)
    if (await isConnected(node)) this.counts.connected++
    await this.probe()
  }

  /** Whether the node wants to be connected to its peer, and can. */
  get #dialsPeer(): boolean {
    const { peer, peerAddress } = this.#site
    const { topic, swarmKey, initialPeers } = this.#settings.document.swarm
    const there = peer.node.settings.document.swarm
    return topic === there.topic && swarmKey === there.swarmKey && initialPeers.includes(peerAddress)
  }

  get #settings() {
    return this.#site.node.node.settings
  }

  get #users(): readonly string[] {
    return this.#settings.document.admin.authorizedUsers
  }
}
