import { type Hash, hashAfter, type Linkable } from '../../protocol/index.ts'

/**
 * Where the chain of a stream ends. The hash after a frame is made when somebody asks for it: whoever has events stored does
 * not have to wait for that.
 */
export class ChainEnd {
  #hash: Hash
  /** What follows that hash, as long as nobody has asked. */
  #frame: Linkable | undefined

  constructor(hash: Hash, frame?: Linkable) {
    this.#hash = hash
    this.#frame = frame
  }

  get hash(): Hash {
    this.link()
    return this.#hash
  }

  /** The end of the chain with one more frame, which has to stay as it is until it was linked. */
  after(frame: Linkable): ChainEnd {
    return new ChainEnd(this.hash, frame)
  }

  /** Makes the hash, if that was not done before. */
  link(): void {
    if (this.#frame === undefined) return
    this.#hash = hashAfter(this.#frame, this.#hash)
    this.#frame = undefined
  }
}
