import { type Frame, type Hash, hashAfter, type Linkable } from '../protocol/index.ts'

/** The hash of a chain after some frames, from the hash before them. */
export function hashThrough(frames: readonly Frame[], previous: Hash): Hash {
  let hash = previous
  for (const frame of frames) hash = hashAfter(frame, hash)
  return hash
}

/**
 * Where the chain of a stream ends. The hash after a frame is computed lazily: a publish is acknowledged without
 * waiting for it.
 */
export class ChainEnd {
  #hash: Hash
  /** The frame that follows that hash and is not linked yet. */
  #frame: Linkable | undefined

  constructor(hash: Hash, frame?: Linkable) {
    this.#hash = hash
    this.#frame = frame
  }

  get hash(): Hash {
    this.link()
    return this.#hash
  }

  /** The end of the chain with one more frame, whose bytes must not change until it is linked. */
  after(frame: Linkable): ChainEnd {
    return new ChainEnd(this.hash, frame)
  }

  /** Computes the hash, unless that was done before. */
  link(): void {
    if (this.#frame === undefined) return
    this.#hash = hashAfter(this.#frame, this.#hash)
    this.#frame = undefined
  }
}

/** Follows the chain of a stream over frames of which nothing was checked but that they can be read. */
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
      if (lamport <= this.lamport) throw new Error(`the lamport timestamps do not rise at ${this.count}`)
      this.lamport = lamport
    }
    this.hash = hashAfter(frame, this.hash)
    this.count += frame.count
  }
}
