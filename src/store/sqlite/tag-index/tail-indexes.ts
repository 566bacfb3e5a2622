import { tuning } from '../../../base/tuning.ts'
import type { StreamNumber } from '../../port/index.ts'
import type { SharedCounts } from '../read/shared-counts.ts'
import type { TailBlock } from '../read/tail-block.ts'
import { TailIndex } from './tail-index.ts'

/** Events that are added at most at a time, since a query cannot pause in between. Longer tails are sealed soon. */
const maxAdded = 4096

/** The block with an unsealed event; undefined when the event was sealed or pruned since. */
type TailBlockAt = (stream: StreamNumber, offset: number) => TailBlock | undefined

/** The indexes of the unsealed events of all streams, in memory. They are brought up to date when they are used. */
export class TailIndexes {
  readonly #counts: SharedCounts
  readonly #blockAt: TailBlockAt
  readonly #indexes = new Map<StreamNumber, TailIndex>()
  #heldBytes = 0
  /** Bytes that the indexes may take together. Streams beyond it are scanned. */
  capacity: number = tuning.tailIndexBytes
  readonly #hashes: number[] = []

  constructor(counts: SharedCounts, blockAt: TailBlockAt) {
    this.#counts = counts
    this.#blockAt = blockAt
  }

  clear(): void {
    this.#indexes.clear()
    this.#heldBytes = 0
  }

  /** The index of a stream, without the newest events if it was not used since. */
  known(stream: StreamNumber): TailIndex | undefined {
    return this.#indexes.get(stream)
  }

  /** The index of all unsealed events up to an offset; undefined when it takes too long or too much memory. */
  upTo(stream: StreamNumber, offset: number): TailIndex | undefined {
    const sealed = this.#counts.sealed(stream)
    const known = this.#indexes.get(stream)
    // Sealed events have a stored index.
    const index = known === undefined || known.first < sealed ? new TailIndex(sealed) : known
    if (index.end > offset) return index
    const isFull = this.#heldBytes >= this.capacity
    if (offset - index.end >= maxAdded || (isFull && index !== known)) return undefined
    this.#heldBytes -= known?.heldBytes ?? 0
    this.#indexes.set(stream, index)
    try {
      return this.#extend(index, stream, offset) ? index : undefined
    } finally {
      this.#heldBytes += index.heldBytes
    }
  }

  /** Adds events up to an offset. Returns false when they were sealed in the meantime. */
  #extend(index: TailIndex, stream: StreamNumber, offset: number): boolean {
    const hashes = this.#hashes
    while (index.end <= offset) {
      const next = index.end
      const block = this.#blockAt(stream, next)
      if (block === undefined) return false
      for (let i = next - block.first; i < block.count; i++) {
        const count = block.writeLabelHashes(hashes, 0, i)
        index.add(hashes, count, block.times[i] as number)
      }
    }
    return true
  }
}
