import type { KeyPair } from '../../../src/identity/index.ts'
import { encodeChunk, genesis, type Hash, heads, type Labels, type StreamKey } from '../../../src/protocol/index.ts'
import { frameOf } from '../../../test/support/events.ts'
import { simTopic } from '../sim-store.ts'

const seed = Buffer.alloc(16, 7)

/** A chunk of one frame after any place of a stream, signed with any key. */
export interface ForgedChunk {
  readonly key: KeyPair
  readonly stream: StreamKey
  readonly previous: Hash
  readonly first: number
  readonly lamport: number
  readonly time: number
  readonly payloads: readonly string[]
  readonly labels?: Labels | undefined
  readonly topic?: string
}

export interface Forged {
  readonly chunk: Buffer
  readonly signedHead: Buffer
  readonly hash: Hash
}

const hostileLabels: Labels = { appId: 'com.example.hostile', tags: ['sim'] }

export function forge({ payloads, labels = hostileLabels, topic = simTopic, ...place }: ForgedChunk): Forged {
  const { key, stream, previous, first, lamport, time } = place
  const events = payloads.map((payload, i) => ({
    lamport: lamport + i,
    time,
    appId: labels.appId,
    tags: [...labels.tags],
    payload,
  }))
  const { record, hash } = frameOf(previous, first, events, seed)
  const count = first + payloads.length
  const head = { topic, stream, time, count, lamport: lamport + payloads.length - 1, hash, checkpoint: true }
  const signedHead = heads.sign(head, key)
  return { chunk: encodeChunk([record], signedHead), signedHead, hash }
}

/** A stream that a hostile node writes with its own key, chunk by chunk. */
export class OwnStream {
  readonly key: StreamKey
  readonly chunks: Forged[] = []
  readonly #signer: KeyPair
  readonly #topic: string
  #hash: Hash
  #count = 0
  #lamport = 0
  readonly #starts: number[] = []

  constructor(signer: KeyPair, number: number, topic = simTopic) {
    this.#signer = signer
    this.#topic = topic
    this.key = { node: signer.publicKey, number }
    this.#hash = genesis(topic, this.key)
  }

  /** Appends events. Returns the chunk with them. */
  append(payloads: readonly string[], time: number, lamport = this.#lamport, labels?: Labels): Forged {
    const place = { key: this.#signer, stream: this.key, previous: this.#hash, first: this.#count, lamport, time }
    const forged = forge({ ...place, payloads, labels, topic: this.#topic })
    this.#starts.push(this.#count)
    this.chunks.push(forged)
    this.#hash = forged.hash
    this.#count += payloads.length
    this.#lamport = lamport + payloads.length
    return forged
  }

  /** The lamport timestamp of the next event. */
  get lamport(): number {
    return this.#lamport
  }

  get count(): number {
    return this.#count
  }

  /** The chunk from an offset on. */
  from(offset: number): Uint8Array | undefined {
    const i = this.#starts.indexOf(offset)
    return this.chunks[i]?.chunk
  }
}
