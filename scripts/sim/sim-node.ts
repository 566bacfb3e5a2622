import assert from 'node:assert/strict'
import { ShoalError } from '../../src/base/errors.ts'
import { type KeyPair, nodeIdOf } from '../../src/identity/index.ts'
import { heads, MalformedBytes, type StreamKey, signedHeadOf } from '../../src/protocol/index.ts'
import type { Runtime } from '../../src/runtime/system-runtime.ts'
import type { Appended, EventStore, Received, StreamHead } from '../../src/store/port/index.ts'
import { type Effect, type Message, type StoreOutcome, Sync } from '../../src/sync/index.ts'
import { packed } from '../../test/support/events.ts'
import type { Agenda, SimClock } from './agenda.ts'
import { type Ledger, streamIdOf } from './ledger.ts'
import type { Endpoint, Network } from './network.ts'
import type { SignatureScheme } from './signatures.ts'
import { type SimStore, simTopic } from './sim-store.ts'
import type { Trace } from './trace.ts'

const gossipMs = 5000

export interface SimNodeOptions {
  readonly label: string
  readonly key: KeyPair
  readonly scheme: SignatureScheme
  readonly agenda: Agenda
  readonly network: Network
  readonly trace: Trace
  readonly ledger: Ledger
  readonly runtime: Runtime & { readonly clock: SimClock }
  readonly disk: SimStore
  readonly random: () => number
}

/** A whole node in a simulation: a store, the rules of replication, and a network that may fail. */
export class SimNode implements Endpoint {
  /** The public key, as latin1. */
  readonly name: string
  readonly id: string
  readonly label: string
  readonly clock: SimClock
  readonly disk: SimStore
  readonly #options: SimNodeOptions
  #sync: Sync
  #wakeAt = Number.POSITIVE_INFINITY
  /** Counts restarts: results that belong to an earlier life are dropped. */
  #life = 0

  constructor(options: SimNodeOptions) {
    this.#options = options
    const { key, label, runtime, disk } = options
    this.name = Buffer.from(key.publicKey).toString('latin1')
    this.id = nodeIdOf(key.publicKey)
    this.label = label
    this.clock = runtime.clock
    this.disk = disk
    this.#sync = this.#newSync()
    this.#traceCommits()
  }

  get store(): EventStore {
    return this.disk.store
  }

  /** The ID of one of its streams. */
  streamId(number: number): string {
    return streamIdOf(this.#options.key.publicKey, number)
  }

  /** Publishes events with these payloads. */
  async publish(stream: number, payloads: readonly string[]): Promise<Appended> {
    const life = this.#life
    const events = payloads.map((payload) => ({ appId: 'com.example.sim', tags: ['sim'], payload }))
    const newest = await this.#newestLamport()
    const appended = await this.store.append({
      ...packed(events),
      streams: new Uint32Array(events.length).fill(stream),
    })
    const { runs, lamport } = appended
    const offset = runs[0]?.offset ?? 0
    this.#options.ledger.add(this.streamId(stream), offset, payloads)
    assert.ok(lamport > newest, `an event of ${this.label} sorts before one that was there when it was published`)
    if (life !== this.#life) return appended
    const head = await this.#headOf({ node: this.#options.key.publicKey, number: stream })
    const chunk = head && (await this.#chunk(head.number, offset))
    if (head !== undefined && chunk !== undefined) this.#apply(this.#sync.appended(head, chunk))
    return appended
  }

  connected(peer: string): void {
    this.#apply(this.#sync.connected(peer, this.#now))
  }

  disconnected(peer: string): void {
    this.#apply(this.#sync.disconnected(peer, this.#now))
  }

  received(peer: string, message: Message): void {
    this.#apply(this.#sync.received(peer, message, this.#now))
  }

  garbled(peer: string): void {
    this.#options.network.disconnect(this.name, peer)
  }

  /** Restarts it with what is in its store, after changes to its files. */
  async restart(change: () => Promise<void> = () => this.disk.reopen()): Promise<void> {
    this.#life++
    this.#options.network.isolate(this.name)
    const { store } = this
    await change()
    if (this.store !== store) this.#traceCommits()
    this.#sync = this.#newSync()
    for (const head of await this.store.heads()) this.#sync.changed(head)
  }

  #traceCommits(): void {
    const { store } = this
    store.onCommit(() => {
      const noted = store.streams().then((streams) => {
        this.#options.trace.note(`commit ${this.label} ${streams.map(({ count }) => count).join()}`)
      })
      noted.catch(this.#options.agenda.fail)
    })
  }

  async #newestLamport(): Promise<number> {
    return (await this.store.heads()).reduce((newest, { lamport }) => Math.max(newest, lamport), -1)
  }

  /** The heads of all streams, as text: equal on nodes with the same events. */
  async headTexts(): Promise<string[]> {
    const texts = (await this.store.heads()).map(
      ({ key, count, hash }) =>
        `${nodeIdOf(key.node)}-${key.number} ${count} ${Buffer.from(hash, 'latin1').toString('hex')}`,
    )
    return texts.sort()
  }

  /** The number of events of each stream that has any, by stream ID. */
  async eventCounts(): Promise<[stream: string, count: number][]> {
    const streams = (await this.store.streams()).filter(({ count }) => count > 0)
    return streams.map(({ key, count }): [string, number] => [streamIdOf(key.node, key.number), count]).sort()
  }

  get #now(): number {
    return this.#options.agenda.nowMs
  }

  #newSync(): Sync {
    const { random, runtime } = this.#options
    const wallClock = runtime.clock.now
    return new Sync({ topic: simTopic, gossipMs, random, wallClock }, this.#now)
  }

  #apply(effects: readonly Effect[]): void {
    const { network } = this.#options
    for (const effect of effects) {
      if (effect.do === 'send') network.send(this.name, effect.to, effect.message)
      else if (effect.do === 'close') network.disconnect(this.name, effect.peer)
      else (effect.do === 'read' ? this.#read(effect) : this.#store(effect)).catch(this.#options.agenda.fail)
    }
    this.#wake()
  }

  #wake(): void {
    const { agenda } = this.#options
    const at = Math.max(this.#sync.wakeAt, this.#now)
    if (at >= this.#wakeAt) return
    this.#wakeAt = at
    agenda.after(at - this.#now, () => {
      if (this.#wakeAt !== at) return
      this.#wakeAt = Number.POSITIVE_INFINITY
      this.#apply(this.#sync.tick(this.#now))
    })
  }

  async #read({ peer, id, stream, from }: Extract<Effect, { do: 'read' }>): Promise<void> {
    const life = this.#life
    const status = await this.store.streamOf(stream)
    const chunk = status === undefined ? undefined : await this.#chunk(status.number, from)
    if (life === this.#life) this.#apply(this.#sync.read(peer, id, chunk))
  }

  async #store(effect: Extract<Effect, { do: 'store' }>): Promise<void> {
    const life = this.#life
    const { outcome, stream } = await this.#receive(effect.chunk)
    const head = stream && (await this.#headOf(stream))
    // Nothing unsigned is ever stored.
    if (head !== undefined) assert.ok(this.#isSigned(head), `${this.id} has stored a head with a wrong signature`)
    if (life === this.#life) this.#apply(this.#sync.stored(effect, outcome, head, this.#now))
  }

  async #receive(chunk: Uint8Array): Promise<{ outcome: StoreOutcome; stream?: StreamKey }> {
    try {
      const result = await this.store.receive(chunk)
      return { outcome: outcomeOf(result), stream: heads.decode(signedHeadOf(chunk)).stream }
    } catch (error) {
      if (error instanceof MalformedBytes) return { outcome: 'refused' }
      throw error
    }
  }

  async #headOf(stream: StreamKey): Promise<StreamHead | undefined> {
    const status = await this.store.streamOf(stream)
    return status && (await this.store.heads()).find(({ number }) => number === status.number)
  }

  /** Checked here as well: the simulator must not rely on what it tests. */
  #isSigned({ key, head }: StreamHead): boolean {
    const end = head.length - 64
    return this.#options.scheme.isSigned(key.node, head.subarray(0, end), head.subarray(end))
  }

  /** The chunk that continues a stream. */
  async #chunk(number: number, from: number): Promise<Uint8Array | undefined> {
    try {
      return await this.store.chunk(number, from)
    } catch (error) {
      // Not from there: a peer that has other frame borders, or pruned events.
      if (!(error instanceof ShoalError)) throw error
      return undefined
    }
  }
}

function outcomeOf({ state }: Received): StoreOutcome {
  return state === 'stored' ? 'stored' : 'unchanged'
}
