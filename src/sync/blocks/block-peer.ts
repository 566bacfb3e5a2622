import { limits } from '../../base/limits.ts'

const unaskedPerAnswer = 4

/** A CID as the key of a map: its bytes as latin1. */
export type BlockKey = string

export function keyOfCid(cid: Uint8Array): BlockKey {
  return Buffer.from(cid.buffer, cid.byteOffset, cid.length).toString('latin1')
}

/** A map with a limit: the oldest entries are forgotten. */
export class RecentKeys<V> {
  readonly #entries = new Map<BlockKey, V>()

  get(key: BlockKey): V | undefined {
    return this.#entries.get(key)
  }

  has(key: BlockKey): boolean {
    return this.#entries.has(key)
  }

  set(key: BlockKey, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= limits.rememberedBlocksPerPeer) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      return
    }
  }

  delete(key: BlockKey): boolean {
    return this.#entries.delete(key)
  }
}

/** A request to a peer for a block. */
export interface OpenRequest {
  readonly cid: Uint8Array
  readonly askedAt: number
  /** The number of answers of the peer at that time. */
  readonly answers: number
  /** Whether a second peer was looked for, because this one lets it wait. */
  isSecondTried: boolean
}

/** When a second peer is asked for a block, unless the first one answers this or another request. */
export function secondSourceAt({ answeredAt }: BlockPeer, { askedAt }: OpenRequest): number {
  return Math.max(askedAt, answeredAt) + limits.secondBlockSourceMs
}

/** What the exchange of blocks knows about a connected peer. */
export class BlockPeer {
  /** Its public key as latin1. */
  readonly name: string
  /** The blocks that it was asked for and has not answered. */
  readonly open = new Map<BlockKey, OpenRequest>()
  /** Requests that were withdrawn: it may have answered them before it knew. */
  readonly #withdrawn = new RecentKeys<true>()
  /** Blocks that it has sent without a request. An answer makes up for some: a request may be repeated. */
  unasked = 0
  /** Number of requests that it has answered. */
  answers = 0
  /** When it last answered a request. */
  answeredAt = Number.NEGATIVE_INFINITY
  /** The time before which it is not asked: it did not answer in time. */
  pausedUntil = Number.NEGATIVE_INFINITY
  /** Length of its last pause in milliseconds; 0 after an answer. */
  pauseMs = 0
  /** The blocks that it says it has. */
  readonly has = new RecentKeys<true>()
  /** The blocks that it does not have, with the time until which that is assumed. */
  readonly lacks = new RecentKeys<number>()
  /** Its requests that wait to be answered, in order. */
  readonly requested = new Map<BlockKey, Uint8Array>()
  /** The blocks that are being read for it. */
  readonly reading = new Set<BlockKey>()
  /** Bytes of blocks that wait to be sent to it. */
  unsentBytes = 0
  /** The blocks that it asked for in vain: it is told when they arrive. */
  readonly interested = new RecentKeys<true>()

  constructor(name: string) {
    this.name = name
  }

  /** How many more blocks it may be asked for now. One that did not answer gets a single request as a probe. */
  capacity(now: number): number {
    if (this.pausedUntil > now) return 0
    return (this.pauseMs > 0 ? 1 : limits.blockRequestsPerPeer) - this.open.size
  }

  /** Whether it may have a block. */
  mayHave(key: BlockKey, now: number): boolean {
    return (this.lacks.get(key) ?? Number.NEGATIVE_INFINITY) <= now
  }

  /** Asks it for a block. */
  ask(key: BlockKey, cid: Uint8Array, now: number): void {
    this.open.set(key, { cid, askedAt: now, answers: this.answers, isSecondTried: false })
  }

  /** Withdraws a request, if it is open. */
  withdraw(key: BlockKey): void {
    if (this.open.delete(key)) this.#withdrawn.set(key, true)
  }

  /** A block of it has arrived. Returns whether it was asked for, now or before. */
  sent(key: BlockKey, now: number): boolean {
    const isOpen = this.open.delete(key)
    if (isOpen) this.answered(now)
    const wasAsked = isOpen || this.#withdrawn.delete(key)
    if (!wasAsked) this.unasked++
    return wasAsked
  }

  /** A block is stored, or wanted no more: what the peer has said about it does not matter. */
  settle(key: BlockKey): void {
    this.has.delete(key)
    this.lacks.delete(key)
  }

  /** It has answered a request. */
  answered(now: number): void {
    this.answers++
    this.unasked = Math.max(0, this.unasked - unaskedPerAnswer)
    this.answeredAt = now
    this.pauseMs = 0
  }

  /** It has not answered a request in time. */
  pause(now: number): void {
    this.pauseMs = Math.min(Math.max(this.pauseMs * 2, limits.minBlockPauseMs), limits.maxBlockPauseMs)
    this.pausedUntil = now + this.pauseMs
  }
}
