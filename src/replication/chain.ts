import { type Frame, type Hash, hashAfter, type Linkable } from '../protocol/index.ts'

/** Links frames to a hash chain: the hash after them, from the hash before them. */
export function hashThrough(frames: readonly Frame[], previous: Hash): Hash {
  let hash = previous
  for (const frame of frames) hash = hashAfter(frame, hash)
  return hash
}

/** The end of a stream's hash chain. The last link is computed lazily, so that a publish is acknowledged without it. */
export class ChainEnd {
  #hash: Hash
  /** The last frame, if it is not linked yet. */
  #frame: Linkable | undefined

  constructor(hash: Hash, frame?: Linkable) {
    this.#hash = hash
    this.#frame = frame
  }

  get hash(): Hash {
    this.link()
    return this.#hash
  }

  /** Appends a frame, whose bytes must not change until it is linked. */
  after(frame: Linkable): ChainEnd {
    return new ChainEnd(this.hash, frame)
  }

  /** Computes the hash, unless it is known. */
  link(): void {
    if (this.#frame === undefined) return
    this.#hash = hashAfter(this.#frame, this.#hash)
    this.#frame = undefined
  }
}

/** A place in a hash chain: after `count` events. */
export interface ChainPlace {
  readonly count: number
  /** The lamport timestamp of the last of them. */
  readonly lamport: number
  readonly hash: Hash
}

/** Verifies offsets, lamport timestamps and the hash chain of a stream over frames that were only parsed. */
export class ChainWalk {
  count: number
  lamport: number
  hash: Hash

  constructor(count: number, { lamport, hash }: { lamport: number; hash: Hash }) {
    this.count = count
    this.lamport = lamport
    this.hash = hash
  }

  add(frame: Frame): void {
    if (frame.first !== this.count) throw new Error(`there is a gap: ${frame.first} follows ${this.count}`)
    for (const lamport of frame.lamports) {
      if (lamport <= this.lamport) throw new Error(`the lamport timestamps are not ascending at ${this.count}`)
      this.lamport = lamport
    }
    this.hash = hashAfter(frame, this.hash)
    this.count += frame.count
  }

  /** Adds frames up to a number of events. Returns whether a frame ends there. */
  reach(count: number, frames: Iterable<Frame>): boolean {
    for (const frame of frames) if (this.count < count) this.add(frame)
    return this.count === count
  }
}
