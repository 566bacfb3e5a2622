import { format } from '../../../base/format.ts'
import { LruCache } from '../../../base/lru-cache.ts'
import { tuning } from '../../../base/tuning.ts'
import type { SealedBlock } from './sealed-block.ts'

/** Keys of events that have one list of blocks: most blocks are in one or two of these. */
const keysPerList = format.eventsPerBlock

/** Blocks that were used last, found by the key of any of their events: asking the database where one begins takes longer. */
export class BlockCache {
  readonly #blocks = new LruCache<number, SealedBlock>(tuning.blockCacheBytes, (block, first) => {
    this.#unlist(first, block.count)
    block.drop()
  })
  /** The keys of the first events of the blocks that have events there. */
  readonly #lists = new Map<number, number[]>()

  /** The block that holds an event; whoever asks for it shares it with others. */
  at(key: number): SealedBlock | undefined {
    for (const first of this.#lists.get(Math.floor(key / keysPerList)) ?? []) {
      if (key < first) continue
      const block = this.#blocks.peek(first)
      if (block === undefined || key >= first + block.count) continue
      block.share()
      return this.#blocks.get(first)
    }
    return undefined
  }

  /** Keeps a block whose first event has that key, whatever else has to go for it, or only if there is room. */
  keep(first: number, block: SealedBlock, onlyIfRoom: boolean): void {
    const before = this.#blocks.peek(first)
    if (before !== undefined) this.#unlist(first, before.count)
    const bytes = block.bytes.length + 32 * block.count
    const isKept = onlyIfRoom ? this.#blocks.setIfRoom(first, block, bytes) : this.#blocks.set(first, block, bytes)
    if (!isKept) return
    block.keep()
    for (let list = Math.floor(first / keysPerList); list * keysPerList < first + block.count; list++) {
      const known = this.#lists.get(list)
      if (known === undefined) this.#lists.set(list, [first])
      else if (!known.includes(first)) known.push(first)
    }
  }

  clear(): void {
    this.#blocks.clear()
    this.#lists.clear()
  }

  #unlist(first: number, count: number): void {
    for (let list = Math.floor(first / keysPerList); list * keysPerList < first + count; list++) {
      const left = (this.#lists.get(list) ?? []).filter((other) => other !== first)
      if (left.length === 0) this.#lists.delete(list)
      else this.#lists.set(list, left)
    }
  }
}
