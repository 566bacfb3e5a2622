import { KeyPair } from '../../src/identity/index.ts'
import { encodeChunk, genesis, type Hash, type Head, heads, type StreamKey } from '../../src/protocol/index.ts'
import type { TopicContext } from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { frameOf } from '../support/events.ts'

/** An arbitrary time. */
export const now = 1_700_000_000_000_000

/** The topic context of a node, by default another one than the writer of the stream. */
export function contextOf(key = KeyPair.generate(systemRandom), kind: TopicContext['kind'] = 'live'): TopicContext {
  return { topic: 't', kind, key, now: () => now }
}

interface WrittenFrame {
  readonly record: Buffer
  readonly end: number
  readonly lamport: number
  readonly hash: Hash
}

interface WrittenOptions {
  readonly key?: KeyPair
  readonly lamport?: number
  readonly text?: string
  /** A stream whose first `shared` frames are the same. */
  readonly parent?: WrittenStream
  readonly shared?: number
}

/** A stream written by another node, with frames of the given sizes. */
export class WrittenStream {
  readonly key: KeyPair
  readonly stream: StreamKey
  readonly frames: readonly WrittenFrame[]

  constructor(sizes: readonly number[], options: WrittenOptions = {}) {
    const { key = KeyPair.generate(systemRandom), lamport = 0, text = 'x', parent, shared = 0 } = options
    this.key = key
    this.stream = { node: key.publicKey, number: 0 }
    const frames: WrittenFrame[] = parent?.frames.slice(0, shared) ?? []
    let hash = frames.at(-1)?.hash ?? genesis('t', this.stream)
    let end = frames.at(-1)?.end ?? 0
    for (const size of sizes.slice(frames.length)) {
      const events = Array.from({ length: size }, (_, i) => ({
        lamport: lamport + 2 * (end + i),
        time: now,
        appId: 'a',
        tags: [],
        payload: JSON.stringify(`${text}${end + i}`),
      }))
      const made = frameOf(hash, end, events, Buffer.alloc(16, frames.length))
      hash = made.hash
      end += size
      frames.push({ record: Buffer.from(made.record), end, lamport: lamport + 2 * (end - 1), hash })
    }
    this.frames = frames
  }

  get count(): number {
    return this.frames.at(-1)?.end ?? 0
  }

  /** Number of events before a frame. */
  startOf(frame: number): number {
    return this.frames[frame - 1]?.end ?? 0
  }

  /** The signed head after a number of frames. */
  head(frames: number, changed: Partial<Head> = {}): Buffer {
    const { end, lamport, hash } = this.frames[frames - 1] as WrittenFrame
    const head = { topic: 't', stream: this.stream, count: end, lamport, hash, checkpoint: false, time: now }
    return heads.sign({ ...head, ...changed }, this.key)
  }

  /** The chunk of a range of frames; `to` is exclusive. */
  chunk(from: number, to: number, changed: Partial<Head> = {}): Buffer {
    return encodeChunk(
      this.frames.slice(from, to).map(({ record }) => record),
      this.head(to, changed),
    )
  }
}
