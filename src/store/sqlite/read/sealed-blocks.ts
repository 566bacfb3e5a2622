import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { release } from '../../../runtime/buffers.ts'
import type { StreamNumber } from '../../port/index.ts'
import { offsetOf, rowKey } from '../rows/row-key.ts'
import { blockOf } from '../rows/segment.ts'
import { blockColumns, blockOfKey } from '../rows/segment-columns.ts'
import { BlockCache } from './block-cache.ts'
import type { SealedBlock } from './sealed-block.ts'

/** A segment with the requested block, or with all of them. It is checked when a block is decoded. */
type Row = readonly [key: number, count: number, size: number, ...blocks: unknown[]]

/** Reads blocks of segments, through a cache. */
export class SealedBlocks {
  readonly #one: StatementSync
  readonly #all: StatementSync
  readonly #cache = new BlockCache()
  /** The keys before and after the last block, to detect sequential reads. */
  #before = -1
  #after = -1
  /** Read-ahead: all blocks of a segment that is read sequentially. */
  #readAhead: Row | undefined

  constructor(database: DatabaseSync) {
    const prepare = (blocks: string): StatementSync => {
      const place = 'FROM segment WHERE key <= ?1 ORDER BY key DESC LIMIT 1'
      const statement = database.prepare(`SELECT key, count, size, ${blocks} ${place}`)
      statement.setReturnArrays(true)
      return statement
    }
    this.#one = prepare(blockOfKey)
    this.#all = prepare(blockColumns.join(', '))
  }

  set cacheBytes(bytes: number) {
    this.#cache.capacity = bytes
  }

  clear(): void {
    this.#cache.clear()
    this.#readAhead = undefined
  }

  /** The block that contains an event of a stream; undefined when the event is not sealed, or was pruned. */
  at(stream: StreamNumber, key: number): SealedBlock | undefined {
    const known = this.#cache.get(key)
    if (known !== undefined) {
      this.#setNeighbours(key - offsetOf(key) + known.first, known.count)
      return known
    }
    const ahead = this.#readAhead
    if (ahead !== undefined && contains(ahead, key)) return this.#blockIn(ahead, key, true)
    // A sequential read fetches all blocks of a segment at once.
    const isSequential = key === this.#before || key === this.#after
    const row = (isSequential ? this.#all : this.#one).get(key) as unknown as Row | undefined
    if (row === undefined || !contains(row, key) || row[0] < rowKey(stream, 0)) return undefined
    if (!isSequential) {
      const block = this.#blockIn(row, key, false)
      releaseBlocks(row)
      return block
    }
    if (ahead !== undefined) releaseBlocks(ahead)
    this.#readAhead = row
    return this.#blockIn(row, key, true)
  }

  /** Remembers where the adjacent blocks are, in both directions. */
  #setNeighbours(first: number, count: number): void {
    this.#before = first - 1
    this.#after = first + count
  }

  #blockIn(row: Row, key: number, isWhole: boolean): SealedBlock {
    const [start, count, size] = row
    const index = Math.floor((key - start) / size)
    const first = start + index * size
    const block = blockOf({ key: start, count, size }, index, row[3 + (isWhole ? index : 0)])
    this.#setNeighbours(first, block.count)
    // Scan resistance: a scan of a large log must not evict other blocks, since it does not reuse its own.
    this.#cache.put(first, block, isWhole)
    return block
  }
}

/** The compressed blocks are not shared, so their memory is released at once. */
function releaseBlocks([, , , ...blocks]: Row): void {
  for (const block of blocks) if (block instanceof Uint8Array) release(block)
}

function contains([first, count]: Row, key: number): boolean {
  return first <= key && key < first + count
}
