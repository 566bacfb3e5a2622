import assert from 'node:assert/strict'
import { ShoalError } from '../../src/base/errors.ts'
import { type KeyPair, type NodeId, nodeIdOf } from '../../src/identity/index.ts'
import type { StreamKey } from '../../src/protocol/index.ts'
import type { Runtime } from '../../src/runtime/system-runtime.ts'
import type { Appended, EventStore } from '../../src/store/port/index.ts'
import { OwnStreamsGate, Replicator } from '../../src/swarm/index.ts'
import type { ExchangeMessage, Message } from '../../src/sync/index.ts'
import { silent } from '../../test/support/api.ts'
import { packed } from '../../test/support/events.ts'
import type { Agenda, SimClock } from './agenda.ts'
import { checkedLog } from './checked-log.ts'
import { Congestion } from './congestion.ts'
import { type DiskFaults, faultyLog, SimulatedFailure } from './faulty-log.ts'
import { type Ledger, streamIdOf } from './ledger.ts'
import type { Endpoint, Network } from './network.ts'
import type { SignatureScheme } from './signatures.ts'
import { type SimStore, simTopic } from './sim-store.ts'
import type { Trace } from './trace.ts'

export const gossipMs = 5000
/** The numbers of streams that follow abandoned ones. */
const nextStreams = 10
/** Not acknowledged: the store is closed, in doubt, or has just been told of a fork. */
const refusals: ReadonlySet<string> = new Set(['ERR_OWN_STREAMS_UNCERTAIN', 'ERR_SHUTTING_DOWN', 'ERR_STREAM_FORKED'])
/** Time after which what a disk has failed to read is read again. */
const retryMs = 1000

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
  /** Called when it is sure of its own streams, with the milliseconds since its restart. */
  readonly onSettled?: (node: SimNode, ms: number) => void
}

/** A node in a simulation: a store, replication, and a network that may fail. */
export class SimNode implements Endpoint {
  /** The public key, as latin1. */
  readonly name: string
  readonly id: NodeId
  readonly label: string
  readonly clock: SimClock
  readonly disk: SimStore
  readonly diskFaults: DiskFaults = { delayMs: 0, failures: 0 }
  readonly #options: SimNodeOptions
  #replicator: Replicator
  /** By paused peer: what it has sent since. */
  readonly #unread = new Map<string, Message[]>()
  readonly #congestion: Congestion
  #hasLeft = false
  /** Makes publishing wait after a doubtful start; undefined before the first restart. */
  #gate: OwnStreamsGate | undefined

  constructor(options: SimNodeOptions) {
    this.#options = options
    const { key, label, runtime, disk } = options
    this.name = Buffer.from(key.publicKey).toString('latin1')
    this.id = nodeIdOf(key.publicKey)
    this.label = label
    this.clock = runtime.clock
    this.disk = disk
    this.#congestion = new Congestion(options.agenda, () => this.#replicator)
    this.#replicator = this.#newReplicator()
    this.#traceCommits()
  }

  get store(): EventStore {
    return this.disk.store
  }

  /** The ID of one of its streams. */
  streamId(number: number): string {
    return streamIdOf(this.#options.key.publicKey, number)
  }

  /** Begins to replicate. Called once, before it is connected. */
  start(): Promise<void> {
    return this.#replicator.start()
  }

  /** Publishes events with these payloads. Undefined when that is refused. */
  async publish(given: number, payloads: readonly string[]): Promise<Appended | undefined> {
    try {
      await this.#gate?.wait()
      return await this.#append(await this.#usable(given), payloads)
    } catch (error) {
      if (error instanceof ShoalError && refusals.has(error.code)) return undefined
      throw error
    }
  }

  /** Another stream if one is frozen, or known to be longer elsewhere. */
  async #usable(stream: number): Promise<number> {
    const isFrozen = (await this.store.headOf(this.#ownStream(stream)))?.frozen === true
    const isLeft = isFrozen || this.#gate?.abandoned.includes(stream) === true
    return isLeft ? this.#usable(stream + nextStreams) : stream
  }

  async #append(stream: number, payloads: readonly string[]): Promise<Appended> {
    const events = payloads.map((payload) => ({ appId: 'com.example.sim', tags: ['sim'], payload }))
    const newest = await this.#newestLamport()
    const appended = await this.store.append({
      ...packed(events),
      streams: new Uint32Array(events.length).fill(stream),
    })
    const { runs, lamport } = appended
    this.#options.ledger.add(this.streamId(stream), runs[0]?.offset ?? 0, payloads)
    assert.ok(lamport > newest, `an event of ${this.label} sorts before one that was there when it was published`)
    return appended
  }

  /** Removes payloads of own events. */
  async redact(stream: number, offsets: readonly number[]): Promise<void> {
    this.#options.ledger.redact(this.streamId(stream), offsets)
    const record = await this.store.redact(stream, offsets)
    await this.#tell(stream, record)
  }

  /** Removes own events before a frame border. */
  async prune(stream: number, count: number): Promise<void> {
    this.#options.ledger.prune(this.streamId(stream), count)
    await this.store.prune(stream, count)
    await this.pruned(stream)
  }

  /** Removes all events of a stream of another node. */
  async forget(stream: StreamKey): Promise<void> {
    if (await this.store.forgetStream(stream)) await this.#replicator.removed(stream)
  }

  /** Tells the peers that own events were pruned. */
  protected pruned(stream: number): Promise<void> {
    return this.#tell(stream)
  }

  async #tell(stream: number, redaction?: Uint8Array): Promise<void> {
    const { agenda } = this.#options
    const replicator = this.#replicator
    try {
      await replicator.removed(this.#ownStream(stream), redaction)
    } catch (error) {
      if (!(error instanceof SimulatedFailure)) throw error
      await new Promise<void>((resolve) => agenda.after(retryMs, resolve))
      // After a restart the head table was read again.
      if (this.#replicator === replicator) await this.#tell(stream, redaction)
    }
  }

  connected(peer: string): void {
    this.#replicator.connected(peer)
  }

  disconnected(peer: string): void {
    this.#unread.delete(peer)
    this.#replicator.disconnected(peer)
  }

  received(peer: string, message: Message): void {
    const unread = this.#unread.get(peer)
    if (unread === undefined) this.#replicator.received(peer, message)
    else unread.push(message)
  }

  /** Messages of a paused peer are kept until it is read again. */
  #pause(peer: string, isPaused: boolean): void {
    const unread = this.#unread.get(peer) ?? []
    if (isPaused) this.#unread.set(peer, unread)
    else this.#unread.delete(peer)
    if (!isPaused) for (const message of unread) this.received(peer, message)
  }

  receivedBlocks(_peer: string, _message: ExchangeMessage): void {}

  garbled(peer: string): void {
    this.#options.network.disconnect(this.name, peer)
  }

  /** Restarts it with what is in its store, after changes to its files. */
  async restart(change: () => Promise<void> = () => this.disk.reopen()): Promise<void> {
    this.#replicator.close()
    this.#options.network.isolate(this.name)
    const { store } = this
    await change()
    if (this.store !== store) this.#traceCommits()
    const { clock, timers } = this.#options.runtime
    this.#gate?.close()
    this.#gate = await OwnStreamsGate.open(this.store, { clock, timers, log: silent })
    this.#replicator = this.#newReplicator()
    await this.#replicator.start()
    this.#watch(this.#gate)
  }

  protected get gate(): OwnStreamsGate | undefined {
    return this.#gate
  }

  /** Another one after a restart. */
  protected get replicator(): Replicator {
    return this.#replicator
  }

  /** The own streams that it must not continue. */
  get abandoned(): readonly number[] {
    return this.#gate?.abandoned ?? []
  }

  #watch(gate: OwnStreamsGate, since = this.#options.agenda.nowMs): void {
    const again = (error: unknown): void => {
      const isInDoubt = error instanceof ShoalError && error.code === 'ERR_OWN_STREAMS_UNCERTAIN'
      if (this.#gate === gate && isInDoubt) this.#watch(gate, since)
    }
    gate.wait().then(() => this.#options.onSettled?.(this, this.#options.agenda.nowMs - since), again)
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

  /** What it has of all streams, as text: equal on nodes with the same events. */
  async headTexts(): Promise<string[]> {
    const texts = (await this.store.heads()).map(({ key, count, pruned, hash, records, frozen }) => {
      const name = `${nodeIdOf(key.node)}-${key.number}`
      return frozen ? `${name} frozen` : `${name} ${count} ${pruned} ${hex(hash)} ${hex(records)}`
    })
    return texts.sort()
  }

  /** The number of events of each stream that has any, by stream ID. */
  async eventCounts(): Promise<[stream: string, count: number][]> {
    const streams = (await this.store.streams()).filter(({ count }) => count > 0)
    return streams.map(({ key, count }): [string, number] => [streamIdOf(key.node, key.number), count]).sort()
  }

  #ownStream(number: number): StreamKey {
    return { node: this.#options.key.publicKey, number }
  }

  #newReplicator(): Replicator {
    const { random, runtime, network, agenda, key, scheme } = this.#options
    const isAlive = (): boolean => this.#replicator === replicator && !this.#hasLeft
    const after = (ms: number, work: () => void): void => void agenda.after(ms, work)
    const replicator = new Replicator({
      topic: simTopic,
      node: key.publicKey,
      log: faultyLog(checkedLog(this.store, scheme, this.label), { faults: this.diskFaults, random, after, isAlive }),
      transport: {
        send: (peer, message) => {
          network.send(this.name, peer, message)
          this.#congestion.watch(peer, network.queuedMs(this.name, peer))
        },
        close: (peer) => network.disconnect(this.name, peer),
        pause: (peer, isPaused) => this.#pause(peer, isPaused),
      },
      runtime,
      gossipMs,
      random,
      gate: this.#gate,
      onFailure: (error) => {
        if (!(error instanceof SimulatedFailure)) agenda.fail(error)
      },
    })
    return replicator
  }

  /** It leaves for ever, before its store is closed. */
  stop(): void {
    this.#hasLeft = true
  }
}

function hex(hash: string): string {
  return Buffer.from(hash, 'latin1').toString('hex')
}
