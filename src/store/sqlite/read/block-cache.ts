import { format } from '../../../base/format.ts'
import { LruCache } from '../../../base/lru-cache.ts'
import { tuning } from '../../../base/tuning.ts'
import type { SealedBlock } from './sealed-block.ts'

/** Size of a bucket in keys of events: most blocks are in one or two buckets. */
const keysPerBucket = format.eventsPerBlock

/** LRU cache of blocks, by the key of any of their events: asking the database where a block starts is slower. */
export class BlockCache {
  readonly #blocks = new LruCache<number, SealedBlock>(tuning.blockCacheBytes, (block, first) => {
    this.#removeFromBuckets(first, block.count)
    block.onEvicted()
  })
  /** Of each bucket: the first keys of the blocks that have events in it. */
  readonly #buckets = new Map<number, number[]>()

  set capacity(bytes: number) {
    this.#blocks.capacity = bytes
  }

  /** The block that contains an event. It is shared between its readers. */
  get(key: number): SealedBlock | undefined {
    for (const first of this.#buckets.get(Math.floor(key / keysPerBucket)) ?? []) {
      if (key < first) continue
      const block = this.#blocks.peek(first)
      if (block === undefined || key >= first + block.count) continue
      block.onShared()
      return this.#blocks.get(first)
    }
    return undefined
  }

  /** Caches a block by the key of its first event; evicts others for it unless `onlyIfRoom` is set. */
  put(first: number, block: SealedBlock, onlyIfRoom: boolean): void {
    const before = this.#blocks.peek(first)
    if (before !== undefined) this.#removeFromBuckets(first, before.count)
    const bytes = block.bytes.length + 32 * block.count
    const isCached = onlyIfRoom ? this.#blocks.setIfRoom(first, block, bytes) : this.#blocks.set(first, block, bytes)
    if (!isCached) return
    block.onCached()
    for (let bucket = Math.floor(first / keysPerBucket); bucket * keysPerBucket < first + block.count; bucket++) {
      const known = this.#buckets.get(bucket)
      if (known === undefined) this.#buckets.set(bucket, [first])
      else if (!known.includes(first)) known.push(first)
    }
  }

  clear(): void {
    this.#blocks.clear()
    this.#buckets.clear()
  }

  #removeFromBuckets(first: number, count: number): void {
    for (let bucket = Math.floor(first / keysPerBucket); bucket * keysPerBucket < first + count; bucket++) {
      const left = (this.#buckets.get(bucket) ?? []).filter((other) => other !== first)
      if (left.length === 0) this.#buckets.delete(bucket)
      else this.#buckets.set(bucket, left)
    }
  }
}
