import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import {
  type BackgroundReporter,
  type BlockNotice,
  type BlockStore,
  type FetchedBlock,
  type LinkTarget,
  refusalIn,
  type WantedList,
} from '../../store/index.ts'
import type { FetchedBlocks } from './fetched-blocks.ts'

/** What becomes of a request of a download for a missing block. */
export type AskedBlock =
  /** It has arrived meanwhile. */
  | 'stored'
  /** Peers are asked for it; the main thread is notified when it arrives. */
  | 'asked'
  | 'noPeers'

/** A block that a download waits for has arrived: a notice to the main thread. */
export interface ArrivedBlock {
  readonly arrived: Uint8Array
}

interface Parts {
  readonly blocks: BlockStore
  readonly fetched: FetchedBlocks
  readonly background: BackgroundReporter
  /** Sends a notice to the main thread. */
  readonly notify: (notice: ArrivedBlock) => void
}

/** The blocks for the thread that exchanges them with other nodes, and those that downloads wait for. */
export class SharedBlocks {
  readonly #parts: Parts
  /** The blocks that downloads wait for. Bounded by the main thread. */
  readonly #asked = new Map<string, Uint8Array>()
  /** The blocks that peers have asked for in vain, the newest last. */
  readonly #missing = new Map<string, Uint8Array>()
  #link: BlockLink | undefined
  #isClosed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Makes a link for the thread that exchanges blocks. It replaces an earlier one. */
  link(post: (notice: BlockNotice) => void): BlockLink {
    this.#link = new BlockLink(this, post)
    for (const cid of this.#asked.values()) post({ is: 'asked', cid })
    return this.#link
  }

  /** A link has ended. */
  unlink(link: BlockLink): void {
    if (this.#link === link) this.#link = undefined
  }

  /** A download waits for a block. */
  ask(cid: Uint8Array): AskedBlock {
    if (this.#parts.blocks.has(cid)) return 'stored'
    if (this.#link?.hasPeers !== true) return 'noPeers'
    this.#asked.set(keyOf(cid), cid)
    this.#link.post({ is: 'asked', cid })
    return 'asked'
  }

  /** No download waits for a block any more. */
  unask(cid: Uint8Array): void {
    if (this.#asked.delete(keyOf(cid))) this.#link?.post({ is: 'unasked', cid })
  }

  /** Notifies the exchange if blocks have become wanted. To be called after every change of pins. */
  notifyWants(): void {
    if (this.#parts.fetched.takeNewWants()) this.#link?.post({ is: 'wanted' })
  }

  wanted(from: 'start' | 'next'): WantedList {
    this.#checkOpen()
    return this.#parts.fetched.wanted(from)
  }

  read(cid: Uint8Array): Uint8Array | undefined {
    this.#checkOpen()
    const bytes = this.#parts.blocks.get(cid)
    if (bytes === undefined) this.#missed(cid)
    return bytes
  }

  /** Notifies the exchange if an upload has stored blocks that peers have asked for in vain. */
  notifyAdded(): void {
    for (const [key, cid] of this.#missing) {
      if (!this.#parts.blocks.has(cid)) continue
      this.#missing.delete(key)
      this.#link?.post({ is: 'added', cid })
    }
  }

  #missed(cid: Uint8Array): void {
    const key = keyOf(cid)
    this.#missing.delete(key)
    this.#missing.set(key, cid)
    for (const oldest of this.#missing.keys()) {
      if (this.#missing.size <= limits.missedBlocks) return
      this.#missing.delete(oldest)
    }
  }

  async receive(cid: Uint8Array, bytes: Uint8Array): Promise<FetchedBlock> {
    this.#checkOpen()
    const { fetched, background, notify } = this.#parts
    const key = keyOf(cid)
    try {
      const received = await fetched.receive(cid, bytes, this.#asked.has(key))
      if (received.outcome === 'stored' && this.#asked.delete(key)) notify({ arrived: cid })
      return received
    } catch (error) {
      background.failed('fetch_files', error, refusalIn(error) !== undefined)
      // What a rollback has lost is wanted again.
      this.notifyWants()
      throw error
    }
  }

  close(): void {
    this.#isClosed = true
  }

  #checkOpen(): void {
    if (this.#isClosed) throw failure('ERR_SHUTTING_DOWN', {})
  }
}

/** The calls of the thread that exchanges blocks. */
export class BlockLink implements LinkTarget {
  readonly #shared: SharedBlocks
  readonly post: (notice: BlockNotice) => void
  /** Whether there are peers that can be asked for blocks. */
  hasPeers = false

  constructor(shared: SharedBlocks, post: (notice: BlockNotice) => void) {
    this.#shared = shared
    this.post = post
  }

  wanted(from: 'start' | 'next'): WantedList {
    return this.#shared.wanted(from)
  }

  read(cid: Uint8Array): Uint8Array | undefined {
    return this.#shared.read(cid)
  }

  receive(cid: Uint8Array, bytes: Uint8Array): Promise<FetchedBlock> {
    return this.#shared.receive(cid, bytes)
  }

  setPeers(hasPeers: boolean): void {
    this.hasPeers = hasPeers
  }

  ended(): void {
    this.#shared.unlink(this)
  }
}

function keyOf(cid: Uint8Array): string {
  return Buffer.from(cid).toString('latin1')
}
