import { format } from '../../../base/format.ts'
import { tuning } from '../../../base/tuning.ts'
import type { StreamNumber } from '../../port/index.ts'
import type { TailBlock } from '../read/tail-block.ts'
import { TailIndex } from './tail-index.ts'

/** At most this many events are added at once, because a query cannot pause meanwhile. Longer tails are sealed soon. */
const maxAdded = 4096

/** The block with an unsealed event; undefined when the event was sealed or pruned since. */
type TailBlockAt = (stream: StreamNumber, offset: number) => TailBlock | undefined

/** The indexes of the unsealed events of all streams, in memory. They are brought up to date when they are used. */
export class TailIndexes {
  readonly #blockAt: TailBlockAt
  readonly #indexes = new Map<StreamNumber, TailIndex>()
  #heldBytes = 0
  #capacity: number = tuning.tailIndexBytes
  readonly #hashes: number[] = []

  constructor(blockAt: TailBlockAt) {
    this.#blockAt = blockAt
  }

  /** Bytes that the indexes may take together. Streams beyond it are scanned. */
  set capacity(bytes: number) {
    this.#capacity = bytes
    if (this.#heldBytes <= bytes) return
    this.#indexes.clear()
    this.#heldBytes = 0
  }

  /** The index as it was last used: it may lack newer events, or be of sealed ones. */
  known(stream: StreamNumber): TailIndex | undefined {
    return this.#indexes.get(stream)
  }

  /**
   * The index of the unsealed events, which start at `sealed`, up to an offset at least. Undefined when that takes too
   * long or too much memory, and when some of them were sealed or pruned in the meantime.
   */
  extendedTo(stream: StreamNumber, sealed: number, offset: number): TailIndex | undefined {
    const index = this.#current(stream, sealed) ?? new TailIndex(sealed)
    if (index.end > offset) return index
    this.#drop(stream)
    const isTooLong = offset - index.end >= maxAdded || offset - index.first >= format.eventsPerRange
    if (isTooLong || this.#heldBytes + index.heldBytes >= this.#capacity) return undefined
    const isComplete = this.#extend(index, stream, offset)
    this.#indexes.set(stream, index)
    this.#heldBytes += index.heldBytes
    return isComplete ? index : undefined
  }

  /** The known index; undefined when its first events were sealed, for which there is a stored index. */
  #current(stream: StreamNumber, sealed: number): TailIndex | undefined {
    const known = this.#indexes.get(stream)
    if (known === undefined || known.first === sealed) return known
    this.#drop(stream)
    return undefined
  }

  #drop(stream: StreamNumber): void {
    this.#heldBytes -= this.#indexes.get(stream)?.heldBytes ?? 0
    this.#indexes.delete(stream)
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
