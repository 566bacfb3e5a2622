import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { release } from '../../../runtime/buffers.ts'
import type { StreamNumber } from '../../port/index.ts'
import { offsetOf, rowKey } from '../rows/row-key.ts'
import { blockOf } from '../rows/segment.ts'
import { blockColumns, blockOfKey } from '../rows/segment-columns.ts'
import { BlockCache } from './block-cache.ts'
import type { SealedBlock } from './sealed-block.ts'

/** A segment with the block that was looked for, or with all of them. Whether it is sound shows with the block. */
type Row = readonly [key: number, count: number, size: number, ...blocks: unknown[]]

/** Reads blocks of segments, and keeps those that were used last. */
export class SealedBlocks {
  readonly #one: StatementSync
  readonly #all: StatementSync
  readonly #cache = new BlockCache()
  /** The keys before and after the block that was read last. */
  #before = -1
  #after = -1
  /** All blocks of a segment of which one was asked for after the other. */
  #ahead: Row | undefined

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

  clear(): void {
    this.#cache.clear()
    this.#ahead = undefined
  }

  /** The block that holds an event of a stream; nothing when it is not sealed, or was pruned. */
  at(stream: StreamNumber, key: number): SealedBlock | undefined {
    const known = this.#cache.at(key)
    if (known !== undefined) {
      this.#follow(key - offsetOf(key) + known.first, known.count)
      return known
    }
    if (this.#ahead !== undefined && holds(this.#ahead, key)) return this.#blockIn(this.#ahead, key, true)
    // Whoever reads one after the other gets all blocks of a segment at once.
    const isNext = key === this.#before || key === this.#after
    const row = (isNext ? this.#all : this.#one).get(key) as unknown as Row | undefined
    if (row === undefined || !holds(row, key) || row[0] < rowKey(stream, 0)) return undefined
    if (!isNext) {
      const block = this.#blockIn(row, key, false)
      releaseBlocks(row)
      return block
    }
    if (this.#ahead !== undefined) releaseBlocks(this.#ahead)
    this.#ahead = row
    return this.#blockIn(row, key, true)
  }

  /** Remembers where the next ones would be, in either direction. */
  #follow(first: number, count: number): void {
    this.#before = first - 1
    this.#after = first + count
  }

  #blockIn(row: Row, key: number, isWhole: boolean): SealedBlock {
    const [start, count, size] = row
    const index = Math.floor((key - start) / size)
    const first = start + index * size
    const block = blockOf({ key: start, count, size }, index, row[3 + (isWhole ? index : 0)])
    this.#follow(first, block.count)
    // Whoever reads all of a large log comes back to none of it in time, and would only make garbage of what is kept.
    this.#cache.keep(first, block, isWhole)
    return block
  }
}

/** What is compressed is nobody else's. */
function releaseBlocks([, , , ...blocks]: Row): void {
  for (const block of blocks) if (block instanceof Uint8Array) release(block)
}

function holds([first, count]: Row, key: number): boolean {
  return first <= key && key < first + count
}
