import { limits } from '../base/limits.ts'
import { fullHead, heads, MalformedBytes } from '../protocol/index.ts'
import { nameOfStream } from '../replication/index.ts'
import type { KnownHead } from './claim.ts'
import { latin1Of } from './latin1.ts'

/** Heads as peers send them. All peers have the same ones, so each is decoded, kept and verified once. */
export class KnownHeads {
  readonly #topic: string
  /** By their bytes. The one that was added first is dropped first. */
  readonly #heads = new Map<string, KnownHead>()

  constructor(topic: string) {
    this.#topic = topic
  }

  /** The head of these bytes, which lack domain word and topic. Its signature may be wrong, see `isVerified`. */
  of(short: Uint8Array): KnownHead {
    const bytes = latin1Of(short)
    const known = this.#heads.get(bytes)
    if (known !== undefined) return known
    const signed = fullHead(short, this.#topic)
    const { stream, count, hash } = heads.decode(signed)
    const head = { stream, name: nameOfStream(stream), count, hash, signed, isVerified: false, shared: undefined }
    if (this.#heads.size >= limits.knownHeads) this.#heads.delete(this.#heads.keys().next().value as string)
    this.#heads.set(bytes, head)
    return head
  }
}

/** Whether a head is signed by the node of its stream. */
export function isVerified(head: KnownHead): boolean {
  if (head.isVerified) return true
  try {
    heads.verify(head.signed)
    head.isVerified = true
    return true
  } catch (error) {
    if (error instanceof MalformedBytes) return false
    throw error
  }
}
