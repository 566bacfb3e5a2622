import { KeyPair } from '../../../src/identity/index.ts'
import { encodeChunk, genesis, type Hash, heads } from '../../../src/protocol/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { systemRuntime } from '../../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../../src/store/memory/memory-event-store.ts'
import { frameOf } from '../../support/events.ts'

/** Another node as a source of chunks. Its clock advances with each call. */
export function memoryStore(key = KeyPair.generate(systemRandom), topic = 'a-topic'): MemoryEventStore {
  let time = 1_700_000_000_000_000
  return new MemoryEventStore({ runtime: systemRuntime, topic, kind: 'live', key, now: () => time++ })
}

export interface ForgedEvent {
  readonly lamport: number
  readonly time?: number
  readonly payload?: string
}

/** A stream that is written frame by frame, including forms that no store would write. */
export class ForgedStream {
  readonly #key: KeyPair
  readonly #topic: string
  readonly #stream: { node: KeyPair['publicKey']; number: number }
  #hash: Hash
  #count = 0

  constructor(key = KeyPair.generate(systemRandom), topic = 'a-topic', number = 0) {
    this.#key = key
    this.#topic = topic
    this.#stream = { node: key.publicKey, number }
    this.#hash = genesis(topic, this.#stream)
  }

  /** A chunk of one frame, which the stream continues from. */
  chunk(events: readonly ForgedEvent[], signer = this.#key): Buffer {
    const full = events.map(({ lamport, time = 1, payload = 'null' }) => ({
      lamport,
      time,
      payload,
      appId: 'com.example.a',
      tags: [],
    }))
    const { record, hash } = frameOf(this.#hash, this.#count, full, new Uint8Array(16))
    this.#hash = hash
    this.#count += events.length
    const lamport = events.at(-1)?.lamport ?? 0
    const { topic, stream, count } = { topic: this.#topic, stream: this.#stream, count: this.#count }
    return encodeChunk(
      [record],
      heads.sign({ topic, stream, count, lamport, hash, checkpoint: false, time: 1 }, signer),
    )
  }
}
