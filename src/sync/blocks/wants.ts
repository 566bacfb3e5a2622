import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import { type BlockKey, keyOfCid } from './block-peer.ts'

/** A wanted block. */
export interface Want {
  readonly key: BlockKey
  readonly cid: Uint8Array
  /** The peers that were asked for it: mostly one. */
  readonly peers: Set<string>
  /** Whether it has arrived and is being stored. */
  isStoring: boolean
  /** Whether it is wanted for itself, not only because a download waits for it. */
  isListed: boolean
}

/** The wanted blocks that a node considers: a part of those of the store, and those that downloads wait for. */
export class Wants {
  readonly #wants = new Map<BlockKey, Want>()
  readonly #asked = new Map<BlockKey, Want>()
  #inProgress = 0

  /** Number of blocks that are asked for, or are being stored. */
  get inProgress(): number {
    return this.#inProgress
  }

  /** Number of blocks that no peer was asked for yet. */
  get waiting(): number {
    return this.#wants.size - this.#inProgress
  }

  get(key: BlockKey): Want | undefined {
    return this.#wants.get(key)
  }

  isAsked(key: BlockKey): boolean {
    return this.#asked.has(key)
  }

  asked(): IterableIterator<Want> {
    return this.#asked.values()
  }

  /** Those that downloads wait for, then the others in the order of the store. */
  *inOrder(): Generator<Want> {
    yield* this.#asked.values()
    yield* this.#wants.values()
  }

  /** Adds a block that the store wants. Returns whether there was room for it. */
  add(cid: Uint8Array): boolean {
    const known = this.#wants.get(keyOfCid(cid))
    if (known !== undefined) known.isListed = true
    else if (this.#wants.size >= limits.consideredWants) return false
    else this.#insert(cid, true)
    return true
  }

  /** A download waits for a block. Their number is limited by the host. */
  ask(cid: Uint8Array): void {
    const key = keyOfCid(cid)
    this.#asked.set(key, this.#wants.get(key) ?? this.#insert(cid, false))
  }

  /** No download waits for a block any more. Returns the peers whose requests for it are of no use now. */
  unask(key: BlockKey): readonly string[] {
    const want = this.#asked.get(key)
    this.#asked.delete(key)
    if (want === undefined || want.isListed || want.isStoring) return []
    const peers = [...want.peers]
    this.delete(key)
    return peers
  }

  /** Forgets those that no peer was asked for: the store lists them again, in a new order. */
  restart(): void {
    for (const want of this.#wants.values()) if (!isInProgress(want)) this.drop(want)
  }

  /** Forgets a block until the store lists it again, unless a download waits for it. */
  drop({ key }: Want): void {
    if (!this.#asked.has(key)) this.delete(key)
  }

  delete(key: BlockKey): void {
    const want = this.#wants.get(key)
    if (want === undefined) return
    this.release(want)
    this.#wants.delete(key)
    this.#asked.delete(key)
  }

  /** A peer is asked for it. */
  request(want: Want, peer: string): void {
    if (!isInProgress(want)) this.#inProgress++
    want.peers.add(peer)
  }

  /** A peer is not asked for it any more. */
  withdraw(want: Want, peer: string): void {
    if (want.peers.delete(peer) && !isInProgress(want)) this.#ended()
  }

  /** Whether a block that has arrived is within the limit of those in progress. */
  canStore(want: Want): boolean {
    return isInProgress(want) || this.#inProgress < limits.blockRequests
  }

  /** It has arrived and is being stored. */
  storing(want: Want): void {
    if (!isInProgress(want)) this.#inProgress++
    want.peers.clear()
    want.isStoring = true
  }

  /** It is neither asked for nor being stored any more. */
  release(want: Want): void {
    if (!isInProgress(want)) return
    want.peers.clear()
    want.isStoring = false
    this.#ended()
  }

  #ended(): void {
    this.#inProgress--
    assert(this.#inProgress >= 0, 'no more blocks are released than were asked for')
  }

  #insert(cid: Uint8Array, isListed: boolean): Want {
    const want: Want = { key: keyOfCid(cid), cid, peers: new Set(), isStoring: false, isListed }
    this.#wants.set(want.key, want)
    return want
  }
}

/** Whether a peer was asked for it, or it is being stored. */
export function isInProgress({ peers, isStoring }: Want): boolean {
  return peers.size > 0 || isStoring
}
