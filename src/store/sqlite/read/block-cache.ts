import { tuning } from '../../../base/tuning.ts'
import { RangeCache } from './range-cache.ts'
import type { SealedBlock } from './sealed-block.ts'

/** LRU cache of blocks, by the key of any of their events: asking the database where a block starts is slower. */
export class BlockCache {
  readonly #blocks = new RangeCache<SealedBlock>(tuning.blockCacheBytes, (block) => block.onEvicted())

  set capacity(bytes: number) {
    this.#blocks.capacity = bytes
  }

  /** The block that contains an event. It is shared between its readers. */
  get(key: number): SealedBlock | undefined {
    const block = this.#blocks.get(key)
    block?.onShared()
    return block
  }

  /** Caches a block by the key of its first event; evicts others for it unless `onlyIfRoom` is set. */
  put(first: number, block: SealedBlock, onlyIfRoom: boolean): void {
    const bytes = block.bytes.length + 32 * block.count
    if (this.#blocks.put(first, block.count, block, bytes, onlyIfRoom)) block.onCached()
  }

  clear(): void {
    this.#blocks.clear()
  }
}
