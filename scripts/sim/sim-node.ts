import assert from 'node:assert/strict'
import { type KeyPair, nodeIdOf, Verifier } from '../../src/identity/index.ts'
import type { StreamKey } from '../../src/protocol/index.ts'
import type { Runtime } from '../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import type { StreamHead } from '../../src/store/port/index.ts'
import { type ReplicatedLog, Replicator } from '../../src/swarm/index.ts'
import type { Message } from '../../src/sync/index.ts'
import { packed } from '../../test/support/events.ts'
import type { Agenda } from './agenda.ts'
import type { Endpoint, Network } from './network.ts'

export const simTopic = 'sim'
const gossipMs = 5000

export interface SimNodeOptions {
  readonly key: KeyPair
  readonly agenda: Agenda
  readonly network: Network
  readonly runtime: Runtime
  readonly random: () => number
}

/** A whole node in a simulation: the store in memory, replication, and a network that may fail. */
export class SimNode implements Endpoint {
  /** The public key, as latin1. */
  readonly name: string
  readonly id: string
  readonly store: MemoryEventStore
  readonly #options: SimNodeOptions
  #replicator: Replicator

  constructor(options: SimNodeOptions) {
    this.#options = options
    const { key, runtime } = options
    this.name = Buffer.from(key.publicKey).toString('latin1')
    this.id = nodeIdOf(key.publicKey)
    this.store = new MemoryEventStore({ topic: simTopic, kind: 'live', key, now: runtime.clock.now, runtime })
    this.#replicator = this.#newReplicator()
  }

  /** Publishes events with these payloads. */
  async publish(stream: number, payloads: readonly string[]): Promise<void> {
    const events = payloads.map((payload) => ({ appId: 'com.example.sim', tags: ['sim'], payload }))
    const newest = await this.#newestLamport()
    const { lamport } = await this.store.append({
      ...packed(events),
      streams: new Uint32Array(events.length).fill(stream),
    })
    assert.ok(lamport > newest, `an event of ${this.id} sorts before one that was there when it was published`)
  }

  /** Removes payloads of own events. */
  async redact(stream: number, offsets: readonly number[]): Promise<void> {
    const record = await this.store.redact(stream, offsets)
    await this.#replicator.removed(this.#ownStream(stream), record)
  }

  /** Removes own events before a frame border. */
  async prune(stream: number, count: number): Promise<void> {
    await this.store.prune(stream, count)
    await this.#replicator.removed(this.#ownStream(stream))
  }

  connected(peer: string): void {
    this.#replicator.connected(peer)
  }

  disconnected(peer: string): void {
    this.#replicator.disconnected(peer)
  }

  received(peer: string, message: Message): void {
    this.#replicator.received(peer, message)
  }

  garbled(peer: string): void {
    this.#options.network.disconnect(this.name, peer)
  }

  /** Restarts it with what is in its store. */
  async restart(): Promise<void> {
    this.#replicator.close()
    this.#options.network.isolate(this.name)
    this.#replicator = this.#newReplicator()
    await this.#replicator.start()
  }

  async #newestLamport(): Promise<number> {
    return (await this.store.heads()).reduce((newest, { lamport }) => Math.max(newest, lamport), -1)
  }

  /** The state of all streams, as text: equal on nodes with the same events. */
  async headTexts(): Promise<string[]> {
    const texts = (await this.store.heads()).map(({ key, count, pruned, hash, records, frozen }) => {
      const name = `${nodeIdOf(key.node)}-${key.number}`
      return frozen ? `${name} frozen` : `${name} ${count} ${pruned} ${hex(hash)} ${hex(records)}`
    })
    return texts.sort()
  }

  #ownStream(number: number): StreamKey {
    return { node: this.#options.key.publicKey, number }
  }

  #newReplicator(): Replicator {
    const { random, runtime, network, agenda, key } = this.#options
    return new Replicator({
      topic: simTopic,
      node: key.publicKey,
      log: this.#checkedLog(),
      transport: {
        send: (peer, message) => network.send(this.name, peer, message),
        close: (peer) => network.disconnect(this.name, peer),
      },
      runtime,
      gossipMs,
      random,
      onFailure: agenda.fail,
    })
  }

  /** The log, with a check that nothing unsigned is ever stored. */
  #checkedLog(): ReplicatedLog {
    const { store } = this
    const headOf = async (key: StreamKey): Promise<StreamHead | undefined> => {
      const row = await store.headOf(key)
      if (row?.head !== undefined)
        assert.ok(isSigned(row.key, row.head), `${this.id} has stored a head with a wrong signature`)
      return row
    }
    return new Proxy(store, {
      get: (target, name) => {
        if (name === 'headOf') return headOf
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
}

/** Checked here as well: the simulator must not rely on what it tests. */
function isSigned(stream: StreamKey, head: Uint8Array): boolean {
  const end = head.length - 64
  return new Verifier(stream.node).verify(head.subarray(0, end), head.subarray(end))
}

function hex(hash: string): string {
  return Buffer.from(hash, 'latin1').toString('hex')
}
