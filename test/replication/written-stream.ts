import { KeyPair } from '../../src/identity/index.ts'
import { encodeChunk, genesis, type Hash, type Head, heads, type StreamKey } from '../../src/protocol/index.ts'
import type { TopicContext } from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { frameOf } from '../support/events.ts'

/** A time on which nothing here depends. */
export const now = 1_700_000_000_000_000

/** The topic as another node than the one that writes the streams sees it. */
export function contextOf(key = KeyPair.generate(systemRandom), kind: TopicContext['kind'] = 'live'): TopicContext {
  return { topic: 't', kind, key, now: () => now }
}

interface WrittenFrame {
  readonly record: Buffer
  readonly end: number
  readonly lamport: number
  readonly hash: Hash
}

/** A stream that another node has written: frames of some sizes, with a lamport timestamp of its own for every event. */
export class WrittenStream {
  readonly key: KeyPair
  readonly stream: StreamKey
  readonly frames: readonly WrittenFrame[]

  constructor(sizes: readonly number[], { key = KeyPair.generate(systemRandom), lamport = 0, text = 'x' } = {}) {
    this.key = key
    this.stream = { node: key.publicKey, number: 0 }
    const frames: WrittenFrame[] = []
    let hash = genesis('t', this.stream)
    let end = 0
    for (const size of sizes) {
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

  /** How many events there are before a frame. */
  startOf(frame: number): number {
    return this.frames[frame - 1]?.end ?? 0
  }

  /** The signed head after so many frames. */
  head(frames: number, changed: Partial<Head> = {}): Buffer {
    const { end, lamport, hash } = this.frames[frames - 1] as WrittenFrame
    const head = { topic: 't', stream: this.stream, count: end, lamport, hash, checkpoint: false, time: now }
    return heads.sign({ ...head, ...changed }, this.key)
  }

  /** The chunk of the frames from one to before another. */
  chunk(from: number, to: number, changed: Partial<Head> = {}): Buffer {
    return encodeChunk(
      this.frames.slice(from, to).map(({ record }) => record),
      this.head(to, changed),
    )
  }
}
